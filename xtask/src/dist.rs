//! `cargo xtask dist`: makes everything that a release publishes, in one directory, from the last commit.
//!
//! The same commit gives the same bytes: times come from the commit, entries are sorted, owners and modes are fixed.

mod archive;
mod bill_of_materials;
mod build;
mod changelog;
mod check;
#[cfg(test)]
mod ci_scripts;
mod deb;
mod dependencies;
mod file_tree;
mod flake;
mod formula;
mod images;
mod installation;
mod installer;
mod licences;
mod needed;
mod npm_packages;
mod options;
mod output;
mod provenance;
mod release;
#[cfg(test)]
mod same_bytes;
mod signature;
mod sums;
mod target;
mod tools;
mod wheel;

use std::path::{Path, PathBuf};

use self::build::{BuildDirectory, BuiltProgram};
use self::options::{DistOptions, DistTask};
use self::output::OutputDirectory;
use self::release::Release;
use crate::result::Result;

pub fn run(options: &[&str]) -> Result {
    let options = DistOptions::parse(options)?;
    match &options.task {
        DistTask::Make => make(&options, BuildDirectory::Usual, &options.output),
        DistTask::MakeTwice => make_twice(&options),
        DistTask::Check(images) => check::run(&options.output, *images),
        DistTask::Images(images) => images.iter().try_for_each(|image| make_image(image, &options)),
    }
}

fn make_image(image: &images::ImageSpec, options: &DistOptions) -> Result {
    let release = Release::of_last_commit()?;
    let here = options.targets.iter().find(|target| target.runs_here());
    let target = here.ok_or("An image is made on a machine that can run it.")?;
    let layout = images::make(image, &release, target, &options.output)?;
    println!("{release}, image {}: {}", image.tag(), layout.display());
    Ok(())
}

/// The second time into a directory beside the first, with everything compiled again.
fn make_twice(options: &DistOptions) -> Result {
    let mut again = options.output.clone().into_os_string();
    again.push("-again");
    let again = PathBuf::from(again);
    make(options, BuildDirectory::Usual, &options.output)?;
    make(options, BuildDirectory::Again, &again)?;
    let differences = output::differences(&options.output, &again)?;
    match differences.is_empty() {
        true => {
            println!("both times the same bytes: {}", again.display());
            Ok(())
        }
        false => Err(format!("Not the same bytes the second time: {}.", differences.join(", ")).into()),
    }
}

fn make(options: &DistOptions, builds: BuildDirectory, directory: &Path) -> Result {
    let release = Release::of_last_commit()?;
    changelog::expect_section_if_tagged(&release)?;
    let mut output = OutputDirectory::create(directory)?;
    let programs = build::programs(&release, &options.targets, builds)?;
    package(&release, &programs, options.signing_key.as_deref(), &mut output)
}

/// Everything that is published, from the binaries.
fn package(
    release: &Release,
    programs: &[BuiltProgram],
    signing_key: Option<&Path>,
    output: &mut OutputDirectory,
) -> Result {
    let targets: Vec<_> = programs.iter().map(|program| program.target).collect();
    let documents = installation::Documents::generate(build::runs_here(programs)?)?;
    for program in programs {
        write_packages(release, program, &documents, output)?;
    }
    let launcher = npm_packages::launcher_package(release, &targets)?;
    output.write(&npm_packages::launcher_file(release), &launcher)?;
    let formula = formula::text(release, &targets, &output.files())?;
    output.write(formula::FILE, formula.as_bytes())?;
    let flake = flake::text(release, &targets, &output.files())?;
    output.write(flake::FILE, flake.as_bytes())?;
    let signer = signing_key.map(signature::allowed_signer).transpose()?;
    let installer = installer::script(release, signer.as_deref().unwrap_or_default())?;
    output.write("install.sh", installer.as_bytes())?;
    let statement = provenance::statement(release, &targets, output.files())?;
    output.write(&format!("autonoe-{}.provenance.json", release.version), statement.as_bytes())?;
    output.write(sums::FILE, sums::list(output.files()).as_bytes())?;
    match signing_key {
        Some(key) => signature::sign(key, &output.path(sums::FILE))?,
        None => println!("not signed: --sign KEY signs {}", sums::FILE),
    }
    println!("{release} is complete: {}", output.directory().display());
    Ok(())
}

/// Everything that one target has.
fn write_packages(
    release: &Release,
    program: &BuiltProgram,
    documents: &installation::Documents,
    output: &mut OutputDirectory,
) -> Result {
    let target = program.target;
    let dependencies = dependencies::of_binary(target)?;
    let licences = licences::document(&dependencies)?;
    let tree = installation::tree(program, documents, &licences)?;
    let archive = archive::tar(&tree, &format!("{}/", target.directory(release)), release.seconds)?;
    output.write(&target.archive(release, "tar.gz"), &archive::gzip(&archive)?)?;
    output.write(&target.archive(release, "tar.zst"), &archive::zstd(&archive)?)?;
    let bill = bill_of_materials::document(release, target, &dependencies)?;
    output.write(&target.archive(release, "cdx.json"), bill.as_bytes())?;
    if target.system == target::System::Linux {
        output.write(&deb::name(release, target), &deb::package(release, target, &tree)?)?;
    }
    let wheel = wheel::package(release, target, program.content()?, &licences)?;
    output.write(&wheel::name(release, target), &wheel)?;
    let package = npm_packages::platform_package(release, target, program.content()?, &licences)?;
    output.write(&npm_packages::platform_file(release, target), &package)
}
