//! One checkout for all checks of a look, made when the first of them needs it. Each check gets files of its own from it.

use autonoe_core::fault::Fault;

use crate::checkout::{Checkout, CheckoutFactory};

pub(super) struct SharedCheckout<'a> {
    pub factory: &'a CheckoutFactory,
    pub checkout: Option<Checkout>,
}

impl SharedCheckout<'_> {
    pub async fn get(&mut self) -> Result<&Checkout, Fault> {
        match &mut self.checkout {
            Some(checkout) => Ok(checkout),
            none => Ok(none.insert(self.factory.check_out(None).await?)),
        }
    }

    pub async fn close(self) {
        if let Some(checkout) = self.checkout {
            checkout.close().await;
        }
    }
}
