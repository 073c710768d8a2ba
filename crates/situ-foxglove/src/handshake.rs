//! Which clients may connect: those that speak the protocol, and no foreign web pages.
//!
//! A browser lets every web page connect to servers on its own machine. The page cannot hide where it is
//! from, so pages from elsewhere are refused; otherwise each page that a person opens could read the robot's
//! topics.

use std::net::IpAddr;

use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::http::{HeaderValue, StatusCode};

use crate::protocol::SUBPROTOCOLS;

/// The page of Foxglove's web application.
const FOXGLOVE: &str = "https://app.foxglove.dev";

/// Answers the request that opens a connection. Pages from `origins` may connect, too.
pub fn answer(
    request: &Request,
    mut response: Response,
    origins: &[String],
) -> Result<Response, Box<ErrorResponse>> {
    let header = |name: &str| request.headers().get(name).and_then(|it| it.to_str().ok());
    if let Some(origin) = request.headers().get("origin") {
        let origin = origin.to_str().unwrap_or("?");
        if !may_connect(origin, header("host"), origins) {
            let text = format!("pages from {origin:?} may not connect; see `situ foxglove --origin`");
            return Err(Box::new(refusal(StatusCode::FORBIDDEN, text)));
        }
    }
    let asked = request.headers().get_all("sec-websocket-protocol").iter();
    let mut asked = asked.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(',')).map(str::trim);
    let Some(chosen) = asked.find_map(|it| SUBPROTOCOLS.into_iter().find(|known| *known == it)) else {
        let text = format!("the client must ask for the protocol {}", SUBPROTOCOLS.join(" or "));
        return Err(Box::new(refusal(StatusCode::BAD_REQUEST, text)));
    };
    response.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(chosen));
    Ok(response)
}

fn refusal(status: StatusCode, text: String) -> ErrorResponse {
    let mut response = ErrorResponse::new(Some(text));
    *response.status_mut() = status;
    response
}

/// Whether a page may connect: one of the own machine, of the server's own address, of Foxglove, or one that
/// was allowed. Programs name no origin, or none of the web.
fn may_connect(origin: &str, host: Option<&str>, origins: &[String]) -> bool {
    if origin == FOXGLOVE || origins.iter().any(|it| it == origin || it == "*") {
        return true;
    }
    let Some(page) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else {
        // A sandboxed page, or a page in a file, has the origin `null`.
        return origin != "null" && !origin.starts_with("http");
    };
    let page = without_port(page);
    // A name may lead anywhere: a page can have its own name resolved to the address of this machine, after
    // the browser has loaded it. An address cannot.
    let is_address = page.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    matches!(page, "localhost" | "127.0.0.1" | "[::1]") || is_address && host.map(without_port) == Some(page)
}

/// The name or address of `host:port`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The colons of an address of version 6 are in brackets.
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_pages_are_refused() {
        let may =
            |origin: &str, host: &str| may_connect(origin, Some(host), &["https://lab.example".to_owned()]);
        for origin in [
            FOXGLOVE,
            "http://localhost:8080",
            "https://127.0.0.1",
            "http://[::1]:80",
            "file://",
            "https://lab.example",
        ] {
            assert!(may(origin, "127.0.0.1:8765"), "{origin}");
        }
        // A page of the server's own machine, seen from another one: by its address, not by a name.
        assert!(may("http://10.0.0.7:8080", "10.0.0.7:8765"));
        assert!(may("http://[fe80::7]:8080", "[fe80::7]:8765"));
        assert!(!may("http://10.0.0.8:8080", "10.0.0.7:8765"));
        assert!(!may("http://evil.example:8765", "evil.example:8765"));
        for origin in [
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
            "https://app.foxglove.dev.evil.example",
            "https://lab.example:8443",
            "http://",
        ] {
            assert!(!may(origin, "127.0.0.1:8765"), "{origin}");
        }
        assert!(may_connect("https://evil.example", None, &["*".to_owned()]));
    }

    #[test]
    fn the_protocol_is_chosen_by_the_client() {
        let ask = |protocols: &str| {
            let request = Request::builder().header("sec-websocket-protocol", protocols).body(()).unwrap();
            let answer = answer(&request, Response::new(()), &[]);
            answer
                .map(|it| it.headers()["sec-websocket-protocol"].to_str().unwrap().to_owned())
                .map_err(|it| it.status())
        };
        assert_eq!(ask("foxglove.websocket.v1").as_deref(), Ok("foxglove.websocket.v1"));
        assert_eq!(ask("foxglove.sdk.v1.1, foxglove.sdk.v1").as_deref(), Ok("foxglove.sdk.v1"));
        assert_eq!(ask("chat"), Err(StatusCode::BAD_REQUEST));
    }
}
