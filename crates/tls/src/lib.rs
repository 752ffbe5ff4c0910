//! The HTTP clients of Autonoe: one trust store and one cryptography provider for all.
//!
//! Servers are verified against the system's certificates. These are hundreds of files, and a run may talk
//! only to a model on this machine, so they are loaded once per process, when the first server presents a
//! certificate.

use std::sync::{Arc, LazyLock};

use reqwest::ClientBuilder;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// Speaks HTTP/1.1.
pub fn client() -> ClientBuilder {
    builder(Vec::new())
}

/// Speaks HTTP/2 only.
pub fn http2_client() -> ClientBuilder {
    builder(vec![b"h2".to_vec()]).http2_prior_knowledge()
}

fn builder(protocols: Vec<Vec<u8>>) -> ClientBuilder {
    let mut tls = CONFIG.clone();
    tls.alpn_protocols = protocols;
    reqwest::Client::builder().tls_backend_preconfigured(tls)
}

static CRYPTOGRAPHY: LazyLock<Arc<CryptoProvider>> = LazyLock::new(|| Arc::new(ring::default_provider()));

static CONFIG: LazyLock<ClientConfig> = LazyLock::new(|| {
    // Libraries that use the default provider get the same one.
    let _ = ring::default_provider().install_default();
    ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(SystemTrust))
        .with_no_client_auth()
});

static SYSTEM: LazyLock<Result<Verifier, Error>> = LazyLock::new(|| Verifier::new(Arc::clone(&CRYPTOGRAPHY)));

/// Delegates to the system's verifier, which is created on first use.
#[derive(Debug)]
struct SystemTrust;

impl ServerCertVerifier for SystemTrust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let system = SYSTEM.as_ref().map_err(Clone::clone)?;
        system.verify_server_cert(certificate, chain, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &CRYPTOGRAPHY.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &CRYPTOGRAPHY.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        CRYPTOGRAPHY.signature_verification_algorithms.supported_schemes()
    }
}
