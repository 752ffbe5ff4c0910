//! The HTTP clients of Autonoe: one trust, one cryptography, one place to change either.
//!
//! Servers are trusted by the system's certificates. There are hundreds of them in as many files, and a run may talk to
//! nothing but a model on this machine, so they are read when the first server shows a certificate, once a process.

use std::sync::{Arc, LazyLock};

use reqwest::ClientBuilder;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// A client to build on, which speaks HTTP/1.1.
pub fn client() -> ClientBuilder {
    builder(Vec::new())
}

/// A client to build on, which speaks HTTP/2 and nothing else.
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
    // Libraries that ask for the default one find the same.
    let _ = ring::default_provider().install_default();
    ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(SystemTrust))
        .with_no_client_auth()
});

static SYSTEM: LazyLock<Result<Verifier, Error>> = LazyLock::new(|| Verifier::new(Arc::clone(&CRYPTOGRAPHY)));

/// Asks the system's verifier, which is made when it is first asked.
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
