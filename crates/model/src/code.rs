//! The codes of failed model calls, one list for every provider.

use autonoe_core::fault::Fault;

/// Why a model call failed. The snake_case of a name is the code of the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorCode {
    /// The configuration of the provider is missing or wrong.
    ProviderNotConfigured,
    /// There is no provider of that name.
    ProviderNotSupported,
    /// The key is wrong, or not allowed to do this.
    AuthenticationError,
    /// Too many requests for the moment.
    RateLimited,
    /// The provider does not know the model.
    ModelNotFound,
    /// The conversation is longer than the model's window.
    ContextLengthExceeded,
    /// The service could not be reached, or the connection broke.
    NetworkError,
    /// The service did not answer in time.
    Timeout,
    /// The answer cannot be understood.
    InvalidResponse,
    /// The service refused the request, a tool's schema for instance.
    InvalidRequest,
    /// The service has too much to do.
    Overloaded,
    /// The service failed.
    ServerError,
    /// The account has no money left.
    BillingError,
    /// A quota is used up until it resets.
    QuotaExceeded,
    /// Anything else.
    Unknown,
}

impl ModelErrorCode {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::ProviderNotConfigured,
        Self::ProviderNotSupported,
        Self::AuthenticationError,
        Self::RateLimited,
        Self::ModelNotFound,
        Self::ContextLengthExceeded,
        Self::NetworkError,
        Self::Timeout,
        Self::InvalidResponse,
        Self::InvalidRequest,
        Self::Overloaded,
        Self::ServerError,
        Self::BillingError,
        Self::QuotaExceeded,
        Self::Unknown,
    ];

    /// The code as faults carry it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProviderNotConfigured => "provider_not_configured",
            Self::ProviderNotSupported => "provider_not_supported",
            Self::AuthenticationError => "authentication_error",
            Self::RateLimited => "rate_limited",
            Self::ModelNotFound => "model_not_found",
            Self::ContextLengthExceeded => "context_length_exceeded",
            Self::NetworkError => "network_error",
            Self::Timeout => "timeout",
            Self::InvalidResponse => "invalid_response",
            Self::InvalidRequest => "invalid_request",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::BillingError => "billing_error",
            Self::QuotaExceeded => "quota_exceeded",
            Self::Unknown => "unknown",
        }
    }

    /// The code a fault carries, if it is one of ours.
    pub fn of(fault: &Fault) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == fault.code)
    }

    /// True when the service is away or has too much to do, whatever it is asked.
    pub fn is_outage(self) -> bool {
        match self {
            Self::RateLimited | Self::NetworkError | Self::Timeout | Self::Overloaded | Self::ServerError => {
                true
            }
            Self::InvalidResponse
            | Self::ProviderNotConfigured
            | Self::ProviderNotSupported
            | Self::AuthenticationError
            | Self::ModelNotFound
            | Self::ContextLengthExceeded
            | Self::InvalidRequest
            | Self::BillingError
            | Self::QuotaExceeded
            | Self::Unknown => false,
        }
    }

    /// True when asking the same again may help.
    pub fn is_retried(self) -> bool {
        match self {
            Self::RateLimited
            | Self::NetworkError
            | Self::Timeout
            | Self::InvalidResponse
            | Self::Overloaded
            | Self::ServerError => true,
            Self::ProviderNotConfigured
            | Self::ProviderNotSupported
            | Self::AuthenticationError
            | Self::ModelNotFound
            | Self::ContextLengthExceeded
            | Self::InvalidRequest
            | Self::BillingError
            | Self::QuotaExceeded
            | Self::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ModelErrorCode;
    use autonoe_core::fault::{Fault, Layer};

    #[test]
    fn a_code_is_the_snake_case_of_its_name_and_found_again_in_a_fault() {
        for code in ModelErrorCode::ALL {
            let name = format!("{code:?}");
            let joined: String = code.as_str().split('_').map(capitalized).collect();
            assert_eq!(joined, name);
            let fault = Fault::passing(Layer::Model, code.as_str(), "It failed.");
            assert_eq!(ModelErrorCode::of(&fault), Some(code));
        }
        assert_eq!(ModelErrorCode::of(&Fault::passing(Layer::Model, "workspace", "No.")), None);
    }

    fn capitalized(word: &str) -> String {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    }
}
