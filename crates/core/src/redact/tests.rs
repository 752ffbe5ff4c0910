//! What is redacted and what is not. Secrets contain a `¦`, which is removed before use, so that nobody takes
//! this file for a leak.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Redactor, SecretValues};

fn unmarked(text: &str) -> String {
    text.replace('¦', "")
}

fn redacted(text: &str) -> String {
    Redactor::default().text(text).into_owned()
}

const SECRETS: &[(&str, &[&str])] = &[
    (
        "Anthropic key",
        &[
            "sk-ant-¦api03-Zk3vQ9xT2mLw8RbY5nHc7PdF4sGj6KaE1uVoXiWtBrNyMzCqUeDhSgJfAlOpIkT0-aB3dE6gH9jK_wAA",
            "sk-ant-¦oat01-3fGh7JkL9mNpQrSt",
            "sk-ant-¦secret-0123456789",
        ],
    ),
    (
        "OpenAI key",
        &[
            "sk-¦aB3dE6gH9jKlMn0pQrS2T3BlbkFJuV4wX5yZ6aB7cD8eF9gH",
            "sk-¦proj-Ab3_dE6gH-9jKlMn0pQrSt2uV4wX5yZ6aB7cD8eF9gHiJkLmN",
            "sk-¦svcacct-x9Y8z7W6v5U4t3S2r1Q0",
            "sk-¦or-v1-0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "sk-¦3a5f9c0b7d1e4826b3f0a9d8c7e6f512",
        ],
    ),
    ("OpenAI session", &["sess-¦aB3dE6gH9jKlMn0pQrSt2uV4wX5yZ6aB7cD8eF9g"]),
    ("Google key", &["AIza¦SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "AIza¦SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"]),
    (
        "GitHub token",
        &[
            "ghp_¦16C7e42F292c6912E7710c838347Ae178B4a",
            "gho_¦16C7e42F292c6912E7710c838347Ae178B4a",
            "ghu_¦16C7e42F292c6912E7710c838347Ae178B4a",
            "ghs_¦16C7e42F292c6912E7710c838347Ae178B4a",
            "ghr_¦1B4a2e77838347a7E420ce178F2E7c6912E169246c34E1ccbF66C46812d16D5B1A9Dc86A1498",
            "github_¦pat_11ABCDEFG0aB3dE6gH9jKl_Mn0pQrSt2uV4wX5yZ6aB7cD8eF9gHiJkLmNoPqRsTuVwXyZ01234567",
        ],
    ),
    ("GitLab token", &["glpat-¦aB3dE6gH9jKlMn0pQrSt", "glrt-¦t1_aB3dE6gH9jKlMn0pQ"]),
    ("AWS key id", &["AKIA¦IOSFODNN7EXAMPLE", "ASIA¦Y34FZKBOKMUTVV7A"]),
    ("Slack token", &["xoxb-¦123456789012-1234567890123-aB3dE6gH9jKlMn0pQrSt2uV4", "xoxp-¦1234567890-abc"]),
    ("Stripe key", &["sk_live_¦4eC39HqLyjWDarjtT1zdp7dc", "rk_live_¦4eC39HqLyjWDarjtT1zdp7dc"]),
    ("npm token", &["npm_¦aB3dE6gH9jKlMn0pQrSt2uV4wX5yZ6aB7cD8"]),
    (
        "PyPI token",
        &["pypi-¦AgEIcHlwaS5vcmcCJDNlZjk2YjQ1LWE3ZTgtNGQ5Yi1hYjEyLTM0NTY3ODkwYWJjZAACKlszLCJhYjEyMzQ1NiJd"],
    ),
    ("Hugging Face token", &["hf_¦aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"]),
    (
        "JSON Web Token",
        &[
            "eyJ¦hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        ],
    ),
    (
        "private key",
        &[
            "-----BEGIN ¦RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAy8Dbv8prpJ/0kKhlGeJYozo2t60EG8L0561g13R29LvMR5hy\n\
             vGZlGJpmn65+A4xHXInJYiPuKzrKUnApeLZ+vw1HocOAZtWK0z3r26uA8kQYOKX9\nQt/DbCdvsF9wF8gRK0ptx9M6R13NvBxv\n\
             -----END RSA PRIVATE KEY-----",
            "-----BEGIN ¦OPENSSH PRIVATE KEY-----\r\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz\
             c2gt\r\nZWQyNTUxOQAAACA=\r\n-----END OPENSSH PRIVATE KEY-----",
            "-----BEGIN ¦PRIVATE KEY-----\\nMC4CAQAwBQYDK2VwBCIEIDdtaqQZ0vJ0Y4zvZbC0m8k7\\n-----END PRIVATE KEY-----",
            "-----BEGIN ¦EC PRIVATE KEY-----\\\\nMHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY/PuoAoGCCqG\\\\nSM49\
             \\\\n-----END EC PRIVATE KEY-----",
            "-----BEGIN ¦RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,2F3CA1B2\n\n\
             MIIEowIBAAKCAQEAy8Dbv8prpJ/0kKhlGeJYozo2t60EG8L0561g13R29LvMR5hy\nabc=\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN ¦PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n\
             lQOYBFwAAAABCADHXInJYiPuKzrKUnApeLZ+vw1HocOAZtWK0z3r26uA8kQYOKX9\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----",
            "-----BEGIN ¦PRIVATE KEY-----MC4CAQAwBQYDK2VwBCIEIDdtaqQZ0vJ0Y4zvZbC0m8k7-----END PRIVATE KEY-----",
            // As shown with line numbers, in a diff and in source code.
            "-----BEGIN ¦PRIVATE KEY-----\n     2→MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n     \
             3→MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n     4→-----END PRIVATE KEY-----",
            "-----BEGIN ¦PRIVATE KEY-----\n+MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n\
             +-----END PRIVATE KEY-----",
            "-----BEGIN ¦PRIVATE KEY-----\\n\" +\n  \"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9\\n\" +\n  \
             \"-----END PRIVATE KEY-----",
        ],
    ),
];

/// Texts with a secret between `«` and `»`, and the name of its shape.
const ASSIGNED: &[(&str, &str)] = &[
    ("aws_secret_access_key = «wJalrXUtnFEMI/¦K7MDENG/bPxRfiCYEXAMPLEKEY»", "AWS secret key"),
    ("export AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/¦K7MDENG/bPxRfiCYEXAMPLEKEY»\n", "AWS secret key"),
    ("{\"awsSecretAccessKey\": \"«wJalrXUtnFEMI/¦K7MDENG/bPxRfiCYEXAMPLEKEY»\"}", "AWS secret key"),
    ("Authorization: Bearer «mF_9.B5f-4.1JqM»", "credentials"),
    ("authorization: Basic «QWxhZGRpbjpvcGVuIHNlc2FtZQ==»", "credentials"),
    ("curl -H 'Authorization: token «3b0c44298fc1c149afbf4c8996fb92427ae41e46»' x", "credentials"),
    ("{\\\"Authorization\\\":\\\"Bearer «mF_9.B5f-4.1JqM»\\\"}", "credentials"),
    ("It sent bearer «AbCdEf123456GhIjKl7890» and got 401", "credentials"),
    ("x-api-key: «a8f5f167f44f4964e6c998dee827110c»", "credentials"),
    ("X-Goog-Api-Key: «a8f5f167f44f4964»", "credentials"),
    ("PRIVATE-TOKEN: «9koXpg98eAheJpvBs5tK»", "credentials"),
    ("postgres://app:«hunter2»@db.internal:5432/app", "password"),
    ("git clone https://me:«s3cr3t%40x»@git.example.com/a.git", "password"),
    ("redis://:«p4ss»@localhost:6379/0", "password"),
    ("amqp://me:«p@ss:w0rd»@host", "password"),
    ("https://x-access-token:«v1.1f699f1069f60xxx»@github.com/o/r", "password"),
    ("OPENAI_API_KEY=«9f8e7d6c5b4a39281706f5e4d3c2b1a0»", "secret"),
    ("export DEPLOY_TOKEN=\"«hV2-x8Lq!mZ4»\"", "secret"),
    ("CLIENT_SECRET='«q8Z~3mN7pR2tV5wX9yB1»'", "secret"),
    ("DB_PASSWORD=«S3cr3t!Pass#word»", "secret"),
    ("GITHUB_TOKEN: «3b0c44298fc1c149afbf4c8996fb92427ae41e46»", "secret"),
    ("password: «x7Kq2Zr9Lm4T»", "secret"),
    ("const apiKey = \"«x7Kq2Zr9Lm4TvB3n»\";", "secret"),
    ("api_key: str = '«x7Kq2Zr9Lm4TvB3n»'", "secret"),
    ("?access_token=«x7Kq2Zr9Lm4TvB3n»&page=2", "secret"),
    ("\\\"password\\\": \\\"«x7Kq2Zr9Lm4TvB3n»\\\"", "secret"),
    ("{\"HEROKU_API_KEY\":\"«550e8400-e29b-41d4-a716-446655440000»\"}", "secret"),
    ("Server=db;User=app;Password=«x7Kq2Zr9Lm4T»;Encrypt=true", "secret"),
];

const ORDINARY: &[&str] = &[
    "",
    "Added tests for the parser; all 42 pass. The task-list is in docs/tasks.md.",
    // Hashes, ids, sums
    "commit 3b0c44298fc1c149afbf4c8996fb92427ae41e46 (HEAD -> main)",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  target/release/autonoe",
    "request 550e8400-e29b-41d4-a716-446655440000 took 12 ms",
    "\"integrity\": \"sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==\"",
    "checksum = \"c1fd087255f739f4f1aeea69f11b72f8080e9c2e7645cd06955dad4a178a49e3\"",
    "go.sum: github.com/pkg/errors v0.9.1 h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=",
    "FROM docker://alpine:3.19@sha256:c5b1261d6d3e43071626931fc004f70149baeba2c8ec672bd4f27761f8e1ad6b",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==",
    "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEudHMiXX0=",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@host",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9\n-----END PUBLIC KEY-----",
    // Code
    "const apiKey = process.env.API_KEY",
    "const apiKey = process.env.OPENAI_API_KEY_2;",
    "api_key = os.environ[\"OPENAI_API_KEY\"]",
    "let token = parser.next_token_kind_2(stream);",
    "const token = await getAccessToken(request, 123456789);",
    "token: string | undefined; password: z.string().min(12).max(64),",
    "if (password.length < 12) throw new Error('password: must have 12 characters')",
    "self.token = Token::Identifier2Name",
    "let secret = base64_decode_v2;",
    "refreshToken = sha256HexDigestOf",
    "\"token\": \"access_token_from_vault\", \"secretName\": \"app-secret-2\"",
    "if text.contains(\"-----BEGIN PRIVATE KEY-----\") || text.contains(\"-----END PRIVATE KEY-----\") {",
    "format!(\"-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----\\n\")",
    "headers: { Authorization: `Bearer ${token}`, 'x-api-key': apiKey }",
    "\"Authorization\": \"Bearer \" + access_token",
    "max_tokens = 1234567890123, input_tokens: 987654321098",
    "pub const INVALID_TOKEN: u32 = 0x80090344u32; const E_PASSWORD: i32 = -2147221421i32; TOKEN=0x80090344",
    "pub const IFLA_INET6_TOKEN: _bindgen_ty_5 = _bindgen_ty_5::IFLA_INET6_TOKEN;",
    ".sk-folding-cube-2-container-1 { } .sk-fading-circle-with-a-long-name { }",
    "npm_config_registry=x npm_lifecycle_event=test; hf_hub_download(repo); ghp_token; glpat-; xoxb-",
    "gh_pat = load(); ghs_installation_access_token; pypi-publish-action-for-trusted-publishing-of-packages",
    "ASIA PACIFIC; ASIAPACIFICREGIONALHQ; AKIA; AIza; sess-4f3a; sk-ant-; sk-; eyJ; risk-of-something-bad-happening-1",
    // Placeholders
    "Set ANTHROPIC_API_KEY=your-key-here-123, or sk-ant-... (sk-ant-api03-…), to begin.",
    "OPENAI_API_KEY=sk-your-key-here GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "DB_PASSWORD=$DB_PASSWORD_2 API_TOKEN=${API_TOKEN_V2} SECRET=$(cat secret2.txt) X_TOKEN=%API_TOKEN_1%",
    "API_KEY=xxxxxxxxxxxxxxxx PASSWORD=changeme-12345 TOKEN=<your-token-123> PASSWORD=******************",
    "token: ${{ secrets.GITHUB_TOKEN }}  password: {{ .Values.db2.password }}",
    "Authorization: Bearer <token>, Authorization: Bearer $TOKEN, Authorization: Bearer YOUR_TOKEN_1",
    "Authorization: Basic Authentication is described in RFC 7617; bearer authentication_as_of_2012 too",
    "SECRET=/run/secrets/db_password_1 TOKEN=https://auth.example.com/oauth2/v1/token",
    "postgres://user:password@localhost/db postgres://postgres:postgres@db:5432 mysql://u:${PW}@h x://u:$PW@h y://a:%s@h",
    // URLs
    "http://localhost:3000/@vite/client?t=1@2 https://example.com:8443/a@b git+ssh://git@github.com:o/r.git",
    "see https://registry.npmjs.org/@scope%2fname and mailto:a@example.com, ftp://ftp.example.com",
    "[redacted] and [redacted: GitHub token] and token=\"[redacted: secret]\" and x://a:[redacted: password]@b",
];

#[test]
fn every_shape_is_redacted_in_any_context() {
    for (name, secrets) in SECRETS {
        for secret in *secrets {
            let secret = unmarked(secret);
            let wanted = format!("[redacted: {name}]");
            assert_eq!(redacted(&secret), wanted, "{secret}");
            for (before, after) in [
                ("it is ", ", really"),
                ("\"", "\""),
                ("\x1b[31m", "\x1b[0m"),
                ("a\\n", "\\n"),
                ("q=%20", "&b"),
                ("(", ")"),
                ("é", "é"),
            ] {
                let text = format!("{before}{secret}{after}");
                assert_eq!(redacted(&text), format!("{before}{wanted}{after}"), "{text}");
            }
        }
    }
}

#[test]
fn a_truncated_private_key_is_redacted() {
    let lines = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\nMzEfYyji";
    let text = unmarked(&format!("-----BEGIN ¦PRIVATE KEY-----\n{lines}\n… 20 characters cut …"));
    assert_eq!(redacted(&text), "[redacted: private key]\n… 20 characters cut …");
    let lines = "C7VJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp98\n  2|3SC6dVMvDuictG\n";
    let text = unmarked(&format!("… 20 characters cut …\n{lines}-----END ¦RSA PRIVATE KEY-----\ndone"));
    assert_eq!(redacted(&text), "… 20 characters cut …\n[redacted: private key]\ndone");
}

#[test]
fn a_secret_is_found_by_the_text_before_it() {
    for (text, name) in ASSIGNED {
        let (before, rest) = text.split_once('«').expect("a secret begins");
        let (_, after) = rest.split_once('»').expect("it ends");
        let given = unmarked(text).replace(['«', '»'], "");
        assert_eq!(redacted(&given), format!("{before}[redacted: {name}]{after}"), "{given}");
    }
}

#[test]
fn ordinary_text_is_unchanged() {
    for text in ORDINARY {
        assert_eq!(redacted(text), *text);
        assert!(matches!(Redactor::default().text(text), Cow::Borrowed(_)), "nothing is copied");
    }
}

#[test]
fn a_value_is_redacted_in_every_encoding() {
    let value = "pa\"ss\\wo/rd +\n\u{1}é";
    let redactor = Redactor::new(&[value.to_owned(), "plain-value-1".to_owned()]);
    let once = json!(value).to_string();
    let twice = json!(once).to_string();
    for form in [
        value,
        once.trim_matches('"'),
        &twice[3..twice.len() - 3],
        "pa%22ss%5Cwo%2Frd%20%2B%0A%01%C3%A9",
        "pa%22ss%5cwo%2frd%20%2b%0a%01%c3%a9",
        "plain-value-1",
    ] {
        assert_eq!(redactor.text(&format!("<{form}>")), "<[redacted]>");
    }
    // echo -n 'plain-value-1', 'x:plain-value-1', ':plain-value-1;' | base64
    for (text, rest) in [
        ("cGxhaW4tdmFsdWUtMQ==", "[redacted]Q=="),
        ("eDpwbGFpbi12YWx1ZS0x", "eDp[redacted]"),
        ("OnBsYWluLXZhbHVlLTE7", "On[redacted]E7"),
    ] {
        assert_eq!(redactor.text(text), rest);
    }
}

#[test]
fn base64_of_both_alphabets_is_redacted() {
    let redactor = Redactor::new(&["a??b>>c??d>>".to_owned()]);
    assert_eq!(redactor.text("YT8/Yj4+Yz8/ZD4+"), "[redacted]");
    assert_eq!(redactor.text("YT8_Yj4-Yz8_ZD4-"), "[redacted]");
}

#[test]
fn overlapping_values_leave_nothing_behind() {
    for order in [["sk-123", "sk-123-tail"], ["sk-123-tail", "sk-123"]] {
        let redactor = Redactor::new(&order.map(str::to_owned));
        assert_eq!(redactor.text("a sk-123-tail b sk-123 c"), "a [redacted] b [redacted] c");
    }
    let redactor = Redactor::new(&["0123456789".to_owned()]);
    let key = unmarked("sk-ant-¦secret-0123456789-and-more-1");
    assert_eq!(redactor.text(&key), "[redacted]", "a value within a shape redacts the whole shape");
}

#[test]
fn short_values_are_too_common_to_be_secrets() {
    let redactor = Redactor::new(&["".to_owned(), "12345".to_owned(), "abcdef".to_owned()]);
    assert_eq!(redactor.text("12345 abcdef"), "12345 [redacted]");
    let redactor = redactor.sharing(&SecretValues::from(vec!["ghijkl".to_owned()]));
    let shown = format!("{redactor:?}");
    assert!(shown.contains("1 values") && !shown.contains("abcdef") && !shown.contains("ghijkl"), "{shown}");
}

#[test]
fn a_part_of_a_value_is_redacted_where_the_text_was_cut() {
    let redactor = Redactor::new(&["0123456789abcdef".to_owned()]);
    for (text, wanted) in [
        (
            "key 0123456789\n… 900 characters cut …\nabcdef end",
            "key [redacted]\n… 900 characters cut …\n[redacted] end",
        ),
        ("key 0123456789ab … 4 characters cut …", "key [redacted] … 4 characters cut …"),
        ("the first 0123456789", "the first [redacted]"),
        ("6789abcdef the rest", "[redacted] the rest"),
        ("01234 … bcdef", "01234 … bcdef"),
        (
            "0123456789 is not at an edge, 6789abcdef neither.",
            "0123456789 is not at an edge, 6789abcdef neither.",
        ),
    ] {
        assert_eq!(redactor.text(text), wanted);
    }
}

#[test]
fn json_stays_json_and_keeps_its_order() {
    let redactor = Redactor::new(&["pa\"ss\\word".to_owned(), "nabcdef".to_owned(), "123456".to_owned()]);
    let github = unmarked("ghp_¦16C7e42F292c6912E7710c838347Ae178B4a");
    let pem = unmarked(
        "-----BEGIN ¦PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIDdtaqQZ0vJ0Y4zvZbC0m8k7\n-----END PRIVATE KEY-----\n",
    );
    let value = json!({
        "z": ["pa\"ss\\word", "a\nabcdef \\nabcdef", 123456],
        "a": { "OPENAI_API_KEY": "x7Kq2Zr9Lm4TvB3n", "Authorization": "Bearer mF_9.B5f-4.1JqM", "id": "x7Kq2Zr9Lm4TvB3n" },
        "file": json!({ "private_key": pem, "token": github }).to_string(),
        "cut": pem,
        github: true,
    });
    let text = redactor.json(&value).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Value>(&text).expect("still JSON"),
        json!({
            "z": ["[redacted]", "a\nabcdef \\[redacted]", 123456],
            "a": {
                "OPENAI_API_KEY": "[redacted: secret]",
                "Authorization": "Bearer [redacted: credentials]",
                "id": "x7Kq2Zr9Lm4TvB3n",
            },
            "file": "{\"private_key\":\"[redacted: private key]\\n\",\"token\":\"[redacted: GitHub token]\"}",
            "cut": "[redacted: private key]\n",
            "[redacted: GitHub token]": true,
        })
    );
    assert!(text.starts_with("{\"z\":") && text.ends_with("\"[redacted: GitHub token]\":true}"), "{text}");
}

#[test]
fn a_value_that_is_added_later_is_redacted_by_every_redactor_that_shares_it() {
    let values = SecretValues::from(vec!["first-secret".to_owned()]);
    let redactor = Redactor::new(&["own-secret".to_owned()]).sharing(&values);
    values.clone().add("later-secret");
    values.add("short");
    assert_eq!(
        redactor.text("own-secret first-secret later-secret short"),
        "[redacted] [redacted] [redacted] short"
    );
}

/// Text without shapes: short words and numbers.
fn prose() -> impl Strategy<Value = String> {
    "([a-z]{1,9}[ .,;\n]|[0-9]{1,5} |é |[A-Z][a-z]{1,6}: ){0,30}"
}

fn planted() -> impl Strategy<Value = String> {
    let secrets: Vec<String> =
        SECRETS.iter().flat_map(|(_, secrets)| *secrets).map(|text| unmarked(text)).collect();
    let grown = prop_oneof![
        "ghp_[A-Za-z0-9]{28}aB3dE6gH",
        "sk-ant-api03-[A-Za-z0-9_-]{80}3Ab",
        "sk-proj-[A-Za-z0-9]{40}3Ab",
        "glpat-[A-Za-z0-9_-]{17}3Ab",
        "xoxb-[0-9]{12}-[0-9]{12}-[A-Za-z0-9]{24}",
        "AKIA[A-Z2-7]{10}BCDE47",
        "AIza[A-Za-z0-9_-]{33}3b",
    ];
    prop_oneof![proptest::sample::select(secrets), grown]
}

proptest! {
    /// No line of a planted secret survives, and the text around it does.
    #[test]
    fn a_planted_secret_never_survives(before in prose(), secret in planted(), after in prose(), glue in "[ \"'(=\n]") {
        let text = format!("{before}{glue}{secret}{glue}{after}");
        let result = redacted(&text);
        for part in secret.split(['\n', '\\', '.', '-']).filter(|part| part.len() >= 12 && !part.contains(" PRIVATE KEY")) {
            prop_assert!(!result.contains(part), "{part:?} survived in {result:?}");
        }
        prop_assert!(result.starts_with(&before) && result.ends_with(&after), "{result:?}");
        prop_assert_eq!(redacted(&result), result.as_str(), "once is enough");
    }

    #[test]
    fn a_configured_value_never_survives(before in ".{0,40}", value in "[ -~]{6,40}", after in ".{0,40}") {
        let redactor = Redactor::new(std::slice::from_ref(&value));
        let text = format!("{before}{value}{after}");
        prop_assert!(!redactor.text(&text).contains(&value) || "[redacted]".contains(&value));
        let written = redactor.json(&json!({ "text": text, "nested": json!({ "text": text }).to_string() })).expect("JSON");
        let read: Value = serde_json::from_str(&written).expect("still JSON");
        prop_assert!(!read["text"].as_str().unwrap_or_default().contains(&value) || "[redacted]".contains(&value));
    }

    #[test]
    fn text_without_shapes_is_unchanged(text in prose()) {
        prop_assert_eq!(redacted(&text), text);
    }

    #[test]
    fn any_text_can_be_redacted(text in "\\PC{0,200}", value in "\\PC{0,20}") {
        let redactor = Redactor::new(&[value]);
        let once = redactor.text(&text).into_owned();
        prop_assert!(once.len() <= text.len() * 4 + 100);
    }
}
