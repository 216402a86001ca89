//! Tickets of the live page, and the proof by which the page recognises its server.
//!
//! A page outlives its server, and then another program may listen at the same port. So the page never sends a token. It
//! asks with a nonce of its own, and the server proves by HMAC that it knows the token. Only then the page sends a ticket.
//!
//! Proof and ticket are made from a key, and the key from a token, the run of the server and its address. So a ticket is
//! refused in another run and at another address. The key is never sent, so a program that got the ticket cannot prove that
//! it is the server.

use std::io;
use std::ops::RangeInclusive;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::guard::Right;
use super::token;

/// Hexadecimal digits of the nonce that a page asks with: at least 128 bits, so that no proof can be collected in advance,
/// and at most what bounds the work of an answer.
const NONCE_DIGITS: RangeInclusive<usize> = 32..=128;

/// The tickets of one run of the server.
#[derive(Clone)]
pub(super) struct Tickets {
    /// The id of the run, which is public.
    run: String,
    page_token: String,
    /// All tokens that open the page, in the order of the proofs.
    tokens: Vec<(String, Right)>,
}

impl Tickets {
    /// Creates the run and its page token, besides the tokens that open MCP too.
    ///
    /// # Errors
    /// If the kernel gives no randomness.
    pub(super) fn new(token: &str, read_token: Option<&str>) -> io::Result<Tickets> {
        let page_token = token::new_token()?;
        let mut tokens = vec![(page_token.clone(), Right::Full), (token.to_owned(), Right::Full)];
        tokens.extend(read_token.map(|token| (token.to_owned(), Right::Read)));
        Ok(Tickets { run: token::new_token()?, page_token, tokens })
    }

    /// Returns the token of the login file. It is valid for this run, and only tickets made from it are accepted.
    pub(super) fn page_token(&self) -> &str {
        &self.page_token
    }

    /// Returns what the bearer of a ticket may do. The time does not depend on how much of the ticket is right.
    pub(super) fn right_of(&self, bearer: &str, host: &str) -> Option<Right> {
        let is_its_ticket = |key: &str| {
            let ticket = hmac_hex(key, "awaitty page ticket");
            bearer.as_bytes().ct_eq(ticket.as_bytes()).into()
        };
        self.keys(host).find(|(key, _)| is_its_ticket(key)).map(|(_, right)| right)
    }

    /// Returns the run, and for each token a proof that we know it; nothing if the nonce has the wrong form. A proof does
    /// not reveal its token.
    pub(super) fn prove(&self, nonce: &str, host: &str) -> Option<Value> {
        let is_hex = nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || !NONCE_DIGITS.contains(&nonce.len()) {
            return None;
        }
        let text = format!("awaitty page proof\n{nonce}");
        let proofs: Vec<String> = self.keys(host).map(|(key, _)| hmac_hex(&key, &text)).collect();
        Some(json!({"run": self.run, "proofs": proofs}))
    }

    /// Returns the keys for the name by which we are asked. A page has this name from its address, in lower case.
    fn keys(&self, host: &str) -> impl Iterator<Item = (String, Right)> {
        let text = format!("awaitty page key\n{}\n{}", self.run, host.to_ascii_lowercase());
        self.tokens.iter().map(move |(token, right)| (hmac_hex(token, &text), *right))
    }
}

/// Returns the HMAC-SHA-256 of a text as hexadecimal digits. `page/hmac.js` does the same in the page.
fn hmac_hex(key: &str, text: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:8137";
    const NONCE: &str = "00112233445566778899aabbccddeeff";

    fn tickets() -> Tickets {
        Tickets::new("file-token-file-token", Some("read-token-read-token")).unwrap()
    }

    /// Makes the ticket of a token as a page does, from what hello answers.
    fn ticket(tickets: &Tickets, token: &str, host: &str) -> String {
        let hello = tickets.prove(NONCE, host).unwrap();
        let run = hello["run"].as_str().unwrap();
        let key = hmac_hex(token, &format!("awaitty page key\n{run}\n{host}"));
        let ticket = hmac_hex(&key, "awaitty page ticket");
        let proof = |key: &str| json!(hmac_hex(key, &format!("awaitty page proof\n{NONCE}")));
        let proofs = hello["proofs"].as_array().unwrap();
        assert!(proofs.contains(&proof(&key)), "{hello}");
        assert!(!proofs.contains(&proof(&ticket)), "a ticket proves nothing");
        ticket
    }

    #[test]
    fn a_mac_is_that_of_rfc_4231() {
        assert_eq!(
            hmac_hex(&"\u{b}".repeat(20), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hmac_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_ticket_gives_the_right_of_its_token_in_its_run_and_at_its_address() {
        let here = tickets();
        let right = |token: &str| here.right_of(&ticket(&here, token, HOST), HOST);
        assert_eq!(right(here.page_token()), Some(Right::Full));
        assert_eq!(right("file-token-file-token"), Some(Right::Full));
        assert_eq!(right("read-token-read-token"), Some(Right::Read));
        let of_page = ticket(&here, here.page_token(), HOST);
        assert_eq!(here.right_of(&of_page, "LOCALHOST:8137"), None, "another address");
        assert_eq!(tickets().right_of(&of_page, HOST), None, "another run");
        let of_file = ticket(&here, "file-token-file-token", HOST);
        assert_eq!(tickets().right_of(&of_file, HOST), None, "the same token, another run");
        for wrong in ["", &of_page[1..], &of_page.to_uppercase(), here.page_token()] {
            assert_eq!(here.right_of(wrong, HOST), None, "{wrong}");
        }
        let of_name = ticket(&here, here.page_token(), "box.lan:8137");
        assert_eq!(here.right_of(&of_name, "Box.LAN:8137"), Some(Right::Full));
    }

    #[test]
    fn a_proof_is_for_one_nonce_and_a_nonce_has_bounds() {
        let here = tickets();
        let proofs = |nonce: &str| here.prove(nonce, HOST).map(|hello| hello["proofs"].clone());
        assert_eq!(proofs(NONCE), proofs(NONCE));
        assert_ne!(proofs(NONCE), proofs(&NONCE.replace('0', "1")));
        assert_ne!(here.prove(NONCE, HOST), here.prove(NONCE, "localhost:8137"));
        assert_eq!(proofs(NONCE).unwrap().as_array().unwrap().len(), 3);
        for (count, is_fit) in [(0, false), (31, false), (32, true), (128, true), (129, false)] {
            assert_eq!(proofs(&"f".repeat(count)).is_some(), is_fit, "{count}");
        }
        assert_eq!(proofs(&"g".repeat(32)), None);
        assert_eq!(proofs(&format!("{NONCE}\n")), None);
        let one = Tickets::new("file-token-file-token", None).unwrap();
        assert_eq!(one.prove(NONCE, HOST).unwrap()["proofs"].as_array().unwrap().len(), 2);
    }
}
