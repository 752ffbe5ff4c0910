//! A model behind TLS is trusted only by the system's certificates.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use super::support::{CliTestProject, RunOutput, assert_script_followed, builder, model};

/// A TLS proxy for `localhost`, signed by its own authority, in front of an HTTP server.
struct TlsProxy {
    authority: String,
    base_url: String,
    _runtime: Runtime,
}

impl TlsProxy {
    fn of(plain: &str) -> Self {
        let behind = plain.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let (authority, config) = signed_for_localhost();
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        listener.set_nonblocking(true).expect("nonblocking");
        let base_url = format!("https://localhost:{}", listener.local_addr().expect("address").port());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("runtime");
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("listener");
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, behind) = (acceptor.clone(), behind.clone());
                tokio::spawn(async move {
                    // A client that does not trust the certificate disconnects.
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut plain = TcpStream::connect(behind).await.expect("the model answers");
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut plain).await;
                });
            }
        });
        Self { authority, base_url, _runtime: runtime }
    }
}

fn signed_for_localhost() -> (String, ServerConfig) {
    let key = KeyPair::generate().expect("key");
    let mut params = CertificateParams::new(Vec::new()).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).expect("signed").pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("key");
    let names = CertificateParams::new(vec!["localhost".to_owned()]).expect("names");
    let certificate = names.signed_by(&key, &issuer).expect("signed");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("certificate");
    (authority, config)
}

#[test]
fn a_model_behind_tls_is_trusted_by_the_systems_certificates() {
    let project = CliTestProject::new();
    let model = model(&builder());
    let front = TlsProxy::of(&model.base_url());
    let trusted = project.home().join("authority.pem");
    fs::write(&trusted, &front.authority).expect("written");
    let mut command = project.command(&model, &["run"]);
    let run = RunOutput::from(
        command
            .env("ANTHROPIC_BASE_URL", &front.base_url)
            .env("SSL_CERT_FILE", &trusted)
            .output()
            .expect("started"),
    );
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
}

#[test]
fn an_untrusted_server_gets_no_key() {
    let project = CliTestProject::new();
    let model = model(&builder());
    let front = TlsProxy::of(&model.base_url());
    let mut command = project.command(&model, &["run", "--max-outage", "1ms"]);
    let run = RunOutput::from(command.env("ANTHROPIC_BASE_URL", &front.base_url).output().expect("started"));
    let outcome = run.outcome().to_string();
    assert!(outcome.contains("certificate"), "{outcome}");
    assert!(model.requests().is_empty());
}
