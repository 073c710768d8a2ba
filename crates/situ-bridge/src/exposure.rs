//! Whether machines that nobody has allowed may connect to a bridge.

use std::net::SocketAddr;

use zenoh::Config;

/// Protocols whose peers have a certificate, if it is required.
const WITH_CERTIFICATES: [&str; 2] = ["tls", "quic"];
/// Protocols that stay within a machine.
const LOCAL: [&str; 2] = ["unixsock-stream", "unixpipe"];
/// How many endpoints a warning names.
const MAX_NAMED: usize = 4;

/// What a configuration of Zenoh requires of machines that connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// They need a certificate of the own authority.
    has_certificates: bool,
    /// They may do what rules say.
    has_rules: bool,
}

impl Access {
    /// What a configuration says.
    pub fn of(config: &Config) -> Self {
        let is_on = |key: &str| config.get_json(key).is_ok_and(|value| value == "true");
        Self {
            has_certificates: is_on("transport/link/tls/enable_mtls"),
            has_rules: is_on("access_control/enabled"),
        }
    }

    fn is_open(self, endpoint: &str) -> bool {
        let (protocol, address) = endpoint.split_once('/').unwrap_or((endpoint, ""));
        let is_safe = LOCAL.contains(&protocol)
            || is_loopback(address)
            || (self.has_certificates && WITH_CERTIFICATES.contains(&protocol));
        !is_safe
    }

    /// A warning, if unknown machines can connect. `found` are the addresses of the endpoints, `asked` the
    /// endpoints that were asked for: without a network, `tcp/0.0.0.0:7447` has no address yet.
    pub fn warning(self, found: &[String], asked: &[String]) -> Option<String> {
        if self.has_rules {
            return None;
        }
        let open = |endpoints: &[String]| -> Vec<String> {
            endpoints.iter().filter(|endpoint| self.is_open(endpoint)).cloned().collect()
        };
        let mut all = Some(open(found)).filter(|open| !open.is_empty()).unwrap_or_else(|| open(asked));
        let more = all.len().saturating_sub(MAX_NAMED);
        all.truncate(MAX_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        (!all.is_empty()).then(|| {
            format!(
                "every machine that reaches {}{more} may read and publish what crosses: there is neither TLS with \
                 certificates of both sides nor access control. Listen on this machine alone (-l tcp/127.0.0.1:7447), \
                 or require certificates or set rules in a configuration of Zenoh (--config), as the page \"Past one \
                 machine\" shows",
                all.join(", ")
            )
        })
    }
}

/// Whether an address is one of this machine that no other one reaches. An address may have metadata behind
/// it: `127.0.0.1:7447?prio=1#iface=lo`.
fn is_loopback(address: &str) -> bool {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().to_canonical().is_loopback(),
        Err(_) => address.rsplit_once(':').is_some_and(|(host, _)| host == "localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(text: &str) -> Access {
        Access::of(&Config::from_json5(text).unwrap())
    }

    fn owned(endpoints: &[&str]) -> Vec<String> {
        endpoints.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn endpoints_beyond_this_machine_are_open() {
        let none = access("{}");
        let local =
            ["tcp/127.0.0.1:7447", "udp/127.8.8.8:1?rel=0", "tcp/[::1]:0#iface=lo", "tls/localhost:7"];
        let more = ["tcp/[::ffff:127.0.0.1]:7447", "unixsock-stream//tmp/situ.sock"];
        assert_eq!(none.warning(&owned(&local), &owned(&more)), None);
        assert_eq!(none.warning(&[], &[]), None);
        for open in
            ["tcp/192.168.1.7:7447", "tcp/[fe80::1]:7447", "tls/10.0.0.1:7447", "tcp/robot.local:7447", "tcp"]
        {
            let warning = none.warning(&owned(&["tcp/127.0.0.1:7447", open]), &[]);
            let warning = warning.unwrap_or_else(|| panic!("{open}"));
            assert!(warning.contains(open) && !warning.contains("reaches tcp/127.0.0.1"), "{warning}");
        }
        // Without a network there is no address, but there may be one later.
        let asked = owned(&["tcp/0.0.0.0:7447"]);
        assert!(none.warning(&[], &asked).unwrap().contains("tcp/0.0.0.0:7447"));
        let found = owned(&["tcp/10.0.0.1:7447"]);
        let warning = none.warning(&found, &asked).unwrap();
        assert!(warning.contains("tcp/10.0.0.1:7447") && !warning.contains("0.0.0.0"), "{warning}");
        let many: Vec<String> = (1..=9).map(|at| format!("tcp/10.0.0.{at}:7")).collect();
        assert!(none.warning(&many, &[]).unwrap().contains("tcp/10.0.0.4:7 and 5 more"));
    }

    #[test]
    fn certificates_and_rules_close_them() {
        let mutual = access("{ transport: { link: { tls: { enable_mtls: true } } } }");
        assert_eq!(mutual.warning(&owned(&["tls/10.0.0.1:7447"]), &[]), None);
        assert!(mutual.warning(&owned(&["tls/10.0.0.1:7447", "tcp/10.0.0.1:7448"]), &[]).is_some());
        let one_sided = access("{ transport: { link: { tls: { enable_mtls: false } } } }");
        assert!(one_sided.warning(&owned(&["tls/10.0.0.1:7447"]), &[]).is_some());
        let rules = access("{ access_control: { enabled: true, default_permission: \"deny\" } }");
        assert_eq!(rules.warning(&owned(&["tcp/10.0.0.1:7447"]), &[]), None);
        let off = access("{ access_control: { enabled: false } }");
        assert!(off.warning(&owned(&["tcp/10.0.0.1:7447"]), &[]).is_some());
    }
}
