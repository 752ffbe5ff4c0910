//! Signatures of webhook messages, which prove their origin and their time.

use ring::hmac;

/// Signs messages with a secret that is shared with the receiver.
#[derive(Debug, Clone)]
pub struct Signer {
    key: hmac::Key,
}

impl Signer {
    pub fn new(secret: &str) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()) }
    }

    /// `sha256=` and the HMAC-SHA256 of the timestamp, a dot and the body.
    pub(crate) fn sign(&self, timestamp: &str, body: &[u8]) -> String {
        format!("sha256={}", self.hex(&[timestamp.as_bytes(), b".", body]))
    }

    fn hex(&self, parts: &[&[u8]]) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        parts.iter().for_each(|part| context.update(part));
        context.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use ring::hmac;

    use super::Signer;

    /// Test cases 1, 2, 3, 4, 6 and 7 of RFC 4231; case 5 is about truncated output.
    #[test]
    fn the_test_vectors_of_rfc_4231_match() {
        let counting: Vec<u8> = (1..=25).collect();
        let cases: [(&[u8], &[u8], &str); 6] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
            (&counting, &[0xcd; 50], "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than block-size data. The key \
                  needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (key, data, expected) in cases {
            let signer = Signer { key: hmac::Key::new(hmac::HMAC_SHA256, key) };
            assert_eq!(signer.hex(&[data]), expected);
            let (one, other) = data.split_at(data.len() / 2);
            assert_eq!(signer.hex(&[one, other]), expected);
        }
    }

    #[test]
    fn the_signature_covers_the_timestamp_a_dot_and_the_body() {
        let signer = Signer::new("a secret");
        assert_eq!(signer.sign("17", b"{}"), format!("sha256={}", signer.hex(&[b"17.{}"])));
        assert_ne!(signer.sign("17", b"{}"), signer.sign("18", b"{}"));
        assert!(!format!("{signer:?}").contains("a secret"));
    }
}
