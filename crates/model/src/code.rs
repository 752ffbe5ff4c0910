//! Error codes of failed model calls, shared by all providers.

use autonoe_core::fault::Fault;

/// Why a model call failed. The snake_case of a variant is the code of the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorCode {
    /// The provider's configuration is missing or invalid.
    ProviderNotConfigured,
    ProviderNotSupported,
    /// The key is invalid or lacks permission.
    AuthenticationError,
    RateLimited,
    ModelNotFound,
    ContextLengthExceeded,
    /// The service could not be reached, or the connection broke.
    NetworkError,
    Timeout,
    /// The response cannot be parsed.
    InvalidResponse,
    /// The service rejected the request, for instance because of a tool's schema.
    InvalidRequest,
    Overloaded,
    ServerError,
    /// The account has no credit left.
    BillingError,
    /// A quota is exhausted until it resets.
    QuotaExceeded,
    Unknown,
}

impl ModelErrorCode {
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

    /// The code used in faults.
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

    /// The code of a fault; `None` if it is not a model error.
    pub fn of(fault: &Fault) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == fault.code)
    }

    /// Whether the service is unavailable or overloaded, independent of the request.
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

    /// Whether sending the same request again may help.
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
    use autonoe_core::fault::{Fault, FaultLayer};

    #[test]
    fn a_code_is_the_snake_case_of_its_name_and_found_again_in_a_fault() {
        for code in ModelErrorCode::ALL {
            let name = format!("{code:?}");
            let joined: String = code.as_str().split('_').map(capitalized).collect();
            assert_eq!(joined, name);
            let fault = Fault::transient(FaultLayer::Model, code.as_str(), "It failed.");
            assert_eq!(ModelErrorCode::of(&fault), Some(code));
        }
        assert_eq!(ModelErrorCode::of(&Fault::transient(FaultLayer::Model, "workspace", "No.")), None);
    }

    fn capitalized(word: &str) -> String {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    }
}
