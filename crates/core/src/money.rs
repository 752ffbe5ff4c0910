//! Dollars, so that a cost is never confused with a count.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub f64);

impl Usd {
    pub const ZERO: Self = Self(0.0);
}

/// The text is not an amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an amount in USD above 0, such as 20 or 0.50")]
pub struct NotDollars;

/// An amount above 0, with or without `$`.
impl FromStr for Usd {
    type Err = NotDollars;

    fn from_str(text: &str) -> Result<Self, NotDollars> {
        match text.strip_prefix('$').unwrap_or(text).parse::<f64>() {
            Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(Self(amount)),
            _ => Err(NotDollars),
        }
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0.0 && self.0 < 0.005 {
            return f.write_str("<$0.01");
        }
        write!(f, "${:.2}", self.0)
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::Usd;

    #[test]
    fn two_decimals_and_never_a_false_zero() {
        assert_eq!(Usd(0.0).to_string(), "$0.00");
        assert_eq!(Usd(0.0004).to_string(), "<$0.01");
        assert_eq!(Usd(1.255).to_string(), "$1.25");
        assert_eq!((Usd(0.5) + Usd(0.75)).to_string(), "$1.25");
    }
}
