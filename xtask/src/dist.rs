//! `cargo xtask dist`: makes everything that a release publishes, in one directory, from the last commit.
//!
//! The same commit gives the same bytes: times come from the commit, entries are sorted, owners and modes are fixed.

mod archive;
mod bill_of_materials;
mod build;
mod check;
#[cfg(test)]
mod ci_scripts;
mod deb;
mod dependencies;
mod file_tree;
mod formula;
mod images;
mod installation;
mod installer;
mod licences;
mod npm_packages;
mod options;
mod output;
mod provenance;
mod release;
mod signature;
mod sums;
mod target;
mod tools;
mod wheel;

use crate::result::Result;

pub fn run(options: &[&str]) -> Result {
    let options = options::DistOptions::parse(options)?;
    match &options.task {
        options::DistTask::Make => make(&options),
        options::DistTask::Check => check::run(&options.output),
        options::DistTask::Image(image) => make_image(image, &options),
    }
}

fn make_image(image: &str, options: &options::DistOptions) -> Result {
    let release = release::Release::of_last_commit()?;
    let here = options.targets.iter().find(|target| target.runs_here());
    let target = here.ok_or("An image is made on a machine that can run it.")?;
    let layout = images::make(image, &release, target, &options.output)?;
    println!("{release}, image {image}: {}", layout.display());
    Ok(())
}

fn make(options: &options::DistOptions) -> Result {
    let release = release::Release::of_last_commit()?;
    let mut output = output::OutputDirectory::create(&options.output)?;
    let programs = build::programs(&release, &options.targets)?;
    let documents = installation::Documents::generate(build::runs_here(&programs)?)?;
    for program in &programs {
        write_packages(&release, program, &documents, &mut output)?;
    }
    let launcher = npm_packages::launcher_package(&release, &options.targets)?;
    output.write(&npm_packages::launcher_file(&release), &launcher)?;
    let formula = formula::text(&release, &options.targets, &output.files())?;
    output.write(formula::FILE, formula.as_bytes())?;
    let signer = options.signing_key.as_deref().map(signature::allowed_signer).transpose()?;
    let installer = installer::script(&release, signer.as_deref().unwrap_or_default())?;
    output.write("install.sh", installer.as_bytes())?;
    let statement = provenance::statement(&release, &options.targets, output.files())?;
    output.write(&format!("autonoe-{}.provenance.json", release.version), statement.as_bytes())?;
    output.write(sums::FILE, sums::list(output.files()).as_bytes())?;
    match &options.signing_key {
        Some(key) => signature::sign(key, &output.path(sums::FILE))?,
        None => println!("not signed: --sign KEY signs {}", sums::FILE),
    }
    println!("{release} is complete: {}", output.directory().display());
    Ok(())
}

/// Everything that one target has.
fn write_packages(
    release: &release::Release,
    program: &build::BuiltProgram,
    documents: &installation::Documents,
    output: &mut output::OutputDirectory,
) -> Result {
    let target = program.target;
    let dependencies = dependencies::of_binary(target)?;
    let licences = licences::document(&dependencies)?;
    let tree = installation::tree(program, documents, &licences)?;
    let name = format!("autonoe-{}-{}", release.version, target.triple);
    let archive = archive::tar(&tree, &format!("{name}/"), release.seconds)?;
    output.write(&format!("{name}.tar.gz"), &archive::gzip(&archive)?)?;
    output.write(&format!("{name}.tar.zst"), &archive::zstd(&archive)?)?;
    let bill = bill_of_materials::document(release, target, &dependencies)?;
    output.write(&format!("{name}.cdx.json"), bill.as_bytes())?;
    if target.system == target::System::Linux {
        output.write(&deb::name(release, target), &deb::package(release, target, &tree)?)?;
    }
    let wheel = wheel::package(release, target, program.content()?, &licences)?;
    output.write(&wheel::name(release, target), &wheel)?;
    let package = npm_packages::platform_package(release, target, program.content()?)?;
    output.write(&npm_packages::platform_file(release, target), &package)
}
