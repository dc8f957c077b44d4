//! The program as a proxy, in a folder of its own, before a scripted provider.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use epitome_upstream::{Record, Script, Upstream};
use serde_json::Value;

use super::http::{Answer, Ask};
use crate::program::Place;

/// The key that every test sends; it must be found nowhere but at the upstream.
pub(crate) const KEY: &str = "sk-ant-very-secret-0123456789";

/// The flags that name where requests go.
const UPSTREAMS: [&str; 3] = ["--anthropic-upstream", "--openai-upstream", "--ollama-upstream"];

/// A provider, and the proxy before it.
pub(crate) struct Serving {
    pub(crate) place: Place,
    pub(crate) upstream: Upstream,
    args: Vec<String>,
    /// The store that is named, if one is.
    store: Option<&'static str>,
    /// Whether the proxy runs as a user to whom files may be forbidden; nothing is to root.
    pub(crate) is_guest: bool,
    /// The flags for an upstream that lead to the provider unless they are among the arguments.
    usual: &'static [&'static str],
    /// Variables of its environment, from its next start on.
    pub(crate) variables: Vec<(&'static str, String)>,
    proxy: Option<Proxy>,
}

/// A running proxy.
struct Proxy {
    child: Child,
    address: SocketAddr,
    /// What it printed.
    said: Arc<Mutex<String>>,
}

impl Serving {
    /// Starts both; `args` go to `epitome serve`.
    pub(crate) fn start(script: Script, args: &[&str]) -> Self {
        Self::on_store(script, args, Some("s.db"))
    }

    /// The same on another store, or without one that is named.
    pub(crate) fn on_store(script: Script, args: &[&str], store: Option<&'static str>) -> Self {
        let upstream = Upstream::start(script).unwrap();
        let args = args.iter().map(ToString::to_string).collect();
        Self::of(upstream, args, &UPSTREAMS, store)
    }

    /// Starts a proxy that is told of no upstream but in `args`.
    pub(crate) fn start_as_told(args: &[&str]) -> Self {
        let upstream = Upstream::start(Script::default()).unwrap();
        let args = args.iter().map(ToString::to_string).collect();
        Self::of(upstream, args, &[], Some("s.db"))
    }

    fn of(
        upstream: Upstream,
        args: Vec<String>,
        usual: &'static [&'static str],
        store: Option<&'static str>,
    ) -> Self {
        let place = Place::new();
        let mut serving = Self {
            place,
            upstream,
            args,
            store,
            usual,
            is_guest: false,
            variables: vec![],
            proxy: None,
        };
        serving.go_on();
        serving
    }

    /// Starts the proxy again, on what it left in its store.
    pub(crate) fn go_on(&mut self) {
        self.proxy = Some(self.started());
    }

    /// The figures of another proxy that begins on the same store, as this one has kept them.
    pub(crate) fn kept(&self) -> Value {
        let other = self.started();
        let ask = Ask::new("GET", "/status").header("accept", "application/json");
        ask.send(other.address).unwrap().json()
    }

    fn started(&self) -> Proxy {
        let url = self.upstream.url();
        let mut args = vec!["serve", "--listen", "127.0.0.1:0"];
        if let Some(store) = self.store {
            args.extend(["--store", store]);
        }
        for flag in self.usual {
            if !self.args.iter().any(|arg| arg == *flag) {
                args.extend([flag, url.as_str()]);
            }
        }
        args.extend(self.args.iter().map(String::as_str));
        let mut command = self.place.command(&args);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if self.is_guest {
            as_guest(&mut command);
        }
        Proxy::start(command)
    }

    /// The same with these arguments besides, from now on.
    pub(crate) fn go_on_with(&mut self, args: &[&str]) {
        self.args.extend(args.iter().map(ToString::to_string));
        self.go_on();
    }

    /// The same with these arguments alone.
    pub(crate) fn go_on_as(&mut self, args: &[&str]) {
        self.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        self.go_on();
    }

    /// Kills the proxy, as a crash would.
    pub(crate) fn kill(&mut self) {
        let mut proxy = self.proxy.take().unwrap();
        proxy.child.kill().unwrap();
        proxy.child.wait().unwrap();
    }

    /// Asks the proxy to end, and waits for it; gives what it printed.
    #[cfg(unix)]
    pub(crate) fn stop(&mut self) -> String {
        let mut proxy = self.proxy.take().unwrap();
        let pid = proxy.child.id().to_string();
        std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        let status = proxy.child.wait().unwrap();
        let said = proxy.said.lock().unwrap().clone();
        assert!(status.success(), "{status}: {said}");
        said
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.proxy.as_ref().unwrap().address
    }

    /// What the proxy printed so far.
    pub(crate) fn said(&self) -> String {
        self.proxy.as_ref().unwrap().said.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.proxy.as_ref().unwrap().child.id()
    }

    /// Sends with the key in it.
    #[track_caller]
    pub(crate) fn send(&self, ask: Ask) -> Answer {
        let ask = ask.header("x-api-key", KEY);
        ask.send(self.address()).unwrap_or_else(|why| panic!("{why}; it said: {}", self.said()))
    }

    /// Posts a body, which must be answered with 200.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let answer = self.send(Ask::post(path, body.to_string()));
        assert_eq!(answer.status, 200, "{}\nit said: {}", answer.text(), self.said());
        answer
    }

    /// The same for the conversation that a client calls `one`: what it sends proves nothing where it
    /// does not say back what the upstream answered.
    #[track_caller]
    pub(crate) fn post_one(&self, path: &str, body: &Value) -> Answer {
        let ask = Ask::post(path, body.to_string()).header("x-epitome-session", "one");
        let answer = self.send(ask);
        assert_eq!(answer.status, 200, "{}\nit said: {}", answer.text(), self.said());
        answer
    }

    /// The prompts that reached the upstream; none of them may have been refused.
    #[track_caller]
    pub(crate) fn prompts(&self) -> Vec<Record> {
        let prompts = self.upstream.prompts();
        for prompt in &prompts {
            assert_eq!(prompt.refused, None, "request {}: {}", prompt.number, prompt.body);
        }
        prompts
    }

    /// The last prompt that reached the upstream.
    #[track_caller]
    pub(crate) fn last(&self) -> Record {
        self.prompts().pop().unwrap()
    }

    /// What the journal says of its sessions.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        let list = self.place.run(["session", "list", "--json", "--store", "s.db"]);
        list.json().as_array().unwrap_or_else(|| panic!("{list:?}")).clone()
    }

    /// How often all sessions were compressed.
    pub(crate) fn compressions(&self) -> u64 {
        self.sessions().iter().filter_map(|it| it["compressions"].as_u64()).sum()
    }

    pub(crate) fn status(&self) -> Value {
        self.send(Ask::new("GET", "/status").header("accept", "application/json")).json()
    }
}

impl Proxy {
    fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (told, address) = std::sync::mpsc::channel();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let listens = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines(out, &listens) {
                // What stands on standard output is where it listens.
                told.send(line.trim_start_matches("http://").parse().unwrap()).ok();
            }
        });
        let notes = Arc::clone(&said);
        std::thread::spawn(move || lines(err, &notes).for_each(drop));
        let Ok(address) = address.recv() else {
            child.wait().unwrap();
            panic!("the proxy ended before it listened: {}", said.lock().unwrap());
        };
        Self { child, address, said }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs as somebody to whom files may be forbidden, where the tests run as root.
pub(crate) fn as_guest(command: &mut Command) {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    if std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0) {
        command.uid(65534).gid(65534);
    }
}

/// The lines of an output, which are remembered too.
fn lines<'a>(output: impl Read + 'a, said: &'a Mutex<String>) -> impl Iterator<Item = String> + 'a {
    BufReader::new(output).lines().map_while(Result::ok).inspect(|line| {
        said.lock().unwrap().push_str(&format!("{line}\n"));
    })
}
