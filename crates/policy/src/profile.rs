//! The languages whose tools the policy knows.

pub use autonoe_core::profile::Profile;
