//! The hosts of the package registries that a project's commands may reach.

use autonoe_core::profile::Profile;

/// The domains of a profile's package registries, including their subdomains.
pub fn registries(profile: Profile) -> &'static [&'static str] {
    match profile {
        Profile::Base => &[],
        Profile::Node | Profile::Bun => &["npmjs.org", "yarnpkg.com"],
        Profile::Python => &["pypi.org", "pythonhosted.org"],
        Profile::Ruby => &["rubygems.org"],
        Profile::Go => &["golang.org"],
        Profile::Rust => &["crates.io"],
        Profile::Php => &["packagist.org"],
    }
}
