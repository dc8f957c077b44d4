//! A client of HTTP/1.1 that shows what comes as it comes, and can leave at any point.
//!
//! Invariant: nothing is retried, followed, unpacked or hidden.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long an answer may pause before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request that is about to be sent.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// How long the answer may pause.
    pub(crate) patience: Duration,
    /// Hangs up once so many bytes of the body are there.
    pub(crate) leaves_after: Option<usize>,
}

/// What came back.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the body came to the end that its head promised.
    pub(crate) whole: bool,
}

impl Ask {
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            patience: PATIENCE,
            leaves_after: None,
        }
    }

    pub(crate) fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        let ask = Self { body: body.into(), ..Self::new("POST", path) };
        ask.header("content-type", "application/json")
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The head and the body as they go over the wire.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.headers.iter().any(|(name, _)| name == "host") {
            head.push_str("host: 127.0.0.1\r\n");
        }
        let length = self.body.len();
        head.push_str(&format!("connection: close\r\ncontent-length: {length}\r\n\r\n"));
        [head.into_bytes(), self.body.clone()].concat()
    }

    /// Sends, and reads what comes.
    pub(crate) fn send(&self, to: SocketAddr) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(to)?;
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_nodelay(true)?;
        // The other side may answer and close before it has read everything.
        stream.write_all(&self.bytes()).ok();
        let answer = Answer::read(&mut stream, self.method == "HEAD", self.leaves_after);
        stream.shutdown(Shutdown::Both).ok();
        answer
    }
}

impl Answer {
    fn read(stream: &mut TcpStream, bare: bool, leaves_after: Option<usize>) -> io::Result<Self> {
        let mut reader = Reader { stream, held: Vec::new() };
        let head = reader.until(b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status in {head:?}")))?;
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        let mut answer = Self { status, headers: headers.collect(), ..Self::default() };
        if bare {
            answer.whole = true;
            return Ok(answer);
        }
        let length = answer.header("content-length").and_then(|it| it.parse::<usize>().ok());
        let chunked = answer.header("transfer-encoding").is_some_and(|it| it.contains("chunked"));
        loop {
            let enough = leaves_after.is_some_and(|most| answer.body.len() >= most);
            let step = match (chunked, length) {
                _ if enough => return Ok(answer),
                (true, _) => reader.chunk(),
                (false, Some(length)) if answer.body.len() >= length => Ok(Vec::new()),
                _ => reader.some(),
            };
            match step {
                Ok(piece) if piece.is_empty() => {
                    answer.whole = length.is_none_or(|length| length == answer.body.len());
                    return Ok(answer);
                }
                Ok(piece) => answer.body.extend(piece),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Err(why),
                // Cut: what is there is shown, and that it is not whole.
                Err(_) => return Ok(answer),
            }
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Reads a stream in pieces that its framing gives.
struct Reader<'a> {
    stream: &'a mut TcpStream,
    held: Vec<u8>,
}

impl Reader<'_> {
    /// What is there, or comes next; empty at the end.
    fn some(&mut self) -> io::Result<Vec<u8>> {
        if !self.held.is_empty() {
            return Ok(std::mem::take(&mut self.held));
        }
        let mut piece = vec![0; 64 << 10];
        let read = loop {
            match self.stream.read(&mut piece) {
                // A signal came, such as the end of a process that a test started.
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        piece.truncate(read);
        Ok(piece)
    }

    fn more(&mut self) -> io::Result<()> {
        let mut held = std::mem::take(&mut self.held);
        let more = self.some()?;
        if more.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        held.extend(more);
        self.held = held;
        Ok(())
    }

    fn until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.held.windows(end.len()).position(|it| it == end) {
                let rest = self.held.split_off(at + end.len());
                let mut found = std::mem::replace(&mut self.held, rest);
                found.truncate(at);
                return Ok(found);
            }
            self.more()?;
        }
    }

    /// One chunk of a chunked body; empty for the last.
    fn chunk(&mut self) -> io::Result<Vec<u8>> {
        let size = self.until(b"\r\n")?;
        let size =
            std::str::from_utf8(&size).ok().and_then(|it| usize::from_str_radix(it, 16).ok());
        let size = size.ok_or_else(|| io::Error::other("no size of a chunk"))?;
        while self.held.len() < size + 2 {
            self.more()?;
        }
        let rest = self.held.split_off(size + 2);
        let mut chunk = std::mem::replace(&mut self.held, rest);
        chunk.truncate(size);
        Ok(chunk)
    }
}
