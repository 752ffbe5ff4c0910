//! The result of a task; the error is printed to the user.

use std::error::Error;

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;
