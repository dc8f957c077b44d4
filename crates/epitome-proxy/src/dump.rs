//! What came, what was sent, and what is known about it, as files for whoever looks into a fault.
//!
//! Invariant: no credential is written: of the headers only those on a list have values, of the
//! query only the names. Files are for this user alone. Called by `call`, off the threads that
//! relay.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use serde::Serialize;
use serde_json::{Value, json};

/// The headers whose values tell nothing that is secret.
const TOLD: [&str; 14] = [
    "accept",
    "accept-encoding",
    "anthropic-beta",
    "anthropic-version",
    "content-encoding",
    "content-length",
    "content-type",
    "session-id",
    "thread-id",
    "user-agent",
    "x-claude-code-session-id",
    "x-epitome-session",
    "x-session-id",
    "x-stainless-retry-count",
];

/// A folder of dumps.
pub(crate) struct Dump {
    folder: PathBuf,
    next: AtomicU64,
}

/// One request.
pub(crate) struct Dumped {
    pub(crate) request: Bytes,
    pub(crate) sent: Bytes,
    pub(crate) meta: Meta,
}

/// What is known about a request.
#[derive(Serialize)]
pub(crate) struct Meta {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Value,
    pub(crate) upstream: String,
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) tokens: Option<[u64; 2]>,
    pub(crate) skip: Option<&'static str>,
    pub(crate) side: bool,
}

impl Meta {
    /// The target of a request without the values of its query.
    pub(crate) fn target(uri: &Uri) -> String {
        let names = uri.query().map(|query| {
            let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
            names.collect::<Vec<_>>().join("&")
        });
        names.map_or_else(|| uri.path().to_owned(), |names| format!("{}?{names}", uri.path()))
    }

    pub(crate) fn method(method: &Method) -> String {
        method.to_string()
    }

    /// The headers of a request: names, and values where they may be told.
    pub(crate) fn headers(headers: &HeaderMap) -> Value {
        let field = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            let told = TOLD.contains(&name.as_str());
            let value = told.then(|| String::from_utf8_lossy(value.as_bytes()).into_owned());
            json!([name.as_str(), value])
        };
        headers.iter().map(field).collect()
    }
}

impl Dump {
    /// Makes the folder where it is not there; numbers go on after those that are in it.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut last = 0;
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.split_once('.')?.0.parse().ok());
            last = last.max(number.unwrap_or(0));
        }
        Ok(Self { folder: folder.to_owned(), next: AtomicU64::new(last + 1) })
    }

    /// Writes one request. What cannot be written is told in the log and changes nothing else.
    pub(crate) fn write(&self, dumped: &Dumped) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let meta = serde_json::to_vec_pretty(&dumped.meta).unwrap_or_default();
        let files: [(&str, &[u8]); 3] =
            [("request", &dumped.request), ("sent", &dumped.sent), ("meta", &meta)];
        for (kind, bytes) in files {
            let path = self.folder.join(format!("{number:06}.{kind}.json"));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            if let Err(error) = options.open(&path).and_then(|mut file| file.write_all(bytes)) {
                tracing::warn!(path = %path.display(), %error, "a dump cannot be written");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn dumped(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn each_request_is_three_files_for_this_user_alone() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("a/dumps");
        let mut headers = HeaderMap::new();
        headers.append("authorization", "Bearer secret-1".parse().unwrap());
        headers.append("x-api-key", "secret-2".parse().unwrap());
        headers.append("cookie", "secret-3".parse().unwrap());
        headers.append("x-unknown", "secret-4".parse().unwrap());
        headers.append("user-agent", "curl/8".parse().unwrap());
        let meta = || Meta {
            method: Meta::method(&Method::POST),
            target: Meta::target(&"/v1/messages?beta=true&key=secret-5".parse().unwrap()),
            headers: Meta::headers(&headers),
            upstream: "http://127.0.0.1:1".to_owned(),
            status: 200,
            session: None,
            tokens: Some([5, 4]),
            skip: None,
            side: false,
        };
        for expected in [3, 6] {
            let dump = Dump::open(&folder).unwrap();
            let (request, sent) = (Bytes::from("[1]"), Bytes::from("[2]"));
            dump.write(&Dumped { request, sent, meta: meta() });
            assert_eq!(dumped(&folder).len(), expected);
        }
        assert_eq!(
            dumped(&folder)[3..],
            ["000002.meta.json", "000002.request.json", "000002.sent.json"]
        );
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.clone()), 0o700);
        assert_eq!(mode(folder.join("000001.sent.json")), 0o600);
        let mut file =
            fs::File::options().read(true).open(folder.join("000001.meta.json")).unwrap();
        let mut meta = String::new();
        io::Read::read_to_string(&mut file, &mut meta).unwrap();
        assert!(meta.contains("curl/8") && meta.contains("/v1/messages?beta&key\""), "{meta}");
        assert!(meta.contains("authorization") && !meta.contains("secret"), "{meta}");
    }
}
