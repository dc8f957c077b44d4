//! What is read of an address: whether it names a server, and where on it.
//!
//! Invariant: where the network is compiled in, its own reading decides, so that what is accepted here
//! is what is asked there. Without it the address is read plainly: whoever moves the bytes then has
//! the last word. Called by endpoints and cassettes.

#[cfg(feature = "http")]
pub(crate) use self::parsed::{has_host, path};
#[cfg(not(feature = "http"))]
pub(crate) use self::plain::{has_host, path};

#[cfg(feature = "http")]
mod parsed {
    use reqwest::Url;

    /// Whether an address names a server.
    pub(crate) fn has_host(address: &str) -> bool {
        Url::parse(address).is_ok_and(|url| url.has_host())
    }

    /// The path and the query of an address; all of one that is none.
    pub(crate) fn path(address: &str) -> String {
        let Ok(url) = Url::parse(address) else { return address.to_owned() };
        match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        }
    }
}

#[cfg(any(test, not(feature = "http")))]
mod plain {
    /// The scheme of an address, its server with the port, and the rest.
    fn parts(address: &str) -> Option<[&str; 3]> {
        let (scheme, rest) = address.split_once("://")?;
        let (server, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
        let is_host = |host: &str| {
            !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "<>^|\\".contains(c))
        };
        let named = server.rsplit_once('@').map_or(server, |(_, server)| server);
        let (host, port) = match named.rsplit_once(':').filter(|_| !named.ends_with(']')) {
            Some((host, port)) => (host, port),
            None => (named, ""),
        };
        let is_port = port.is_empty() || port.parse::<u16>().is_ok();
        (is_scheme && is_host(host) && is_port).then_some([scheme, server, rest])
    }

    /// Whether an address names a server.
    pub(crate) fn has_host(address: &str) -> bool {
        parts(address).is_some()
    }

    /// The path and the query of an address; all of one that is none.
    pub(crate) fn path(address: &str) -> String {
        let Some([_, _, rest]) = parts(address) else { return address.to_owned() };
        let rest = rest.split('#').next().unwrap_or_default();
        if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") }
    }
}

#[cfg(test)]
#[cfg(feature = "http")]
mod tests {
    use super::{parsed, plain};

    #[test]
    fn an_address_is_read_alike_with_the_network_and_without() {
        for address in [
            "http://127.0.0.1:11434",
            "http://[::1]:8/v1",
            "https://api.openai.com/v1/chat/completions",
            "https://user:key@host.example:8443/a/b?c=d&e#f",
            "http://host?x=1",
            "localhost",
            "localhost:11434",
            "http://",
            "http:///",
            "http://a b/",
            "http://host:port/",
            "http://host:99999/",
            "1http://host/",
            "",
        ] {
            assert_eq!(plain::has_host(address), parsed::has_host(address), "{address}");
            if parsed::has_host(address) {
                assert_eq!(plain::path(address), parsed::path(address), "{address}");
            }
        }
    }
}
