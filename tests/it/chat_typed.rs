//! `epitome chat` on a terminal: what is typed ahead of the prompt that it is for.

use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use epitome_upstream::{Script, Turn, Upstream};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{SpecialCodeIndex, tcgetattr};

use crate::program::Place;

/// How often whatever is waited for is looked at, and the pause in between: a minute in all.
const LOOKS: usize = 6_000;
const PAUSE: Duration = Duration::from_millis(10);

/// The program on a terminal, and who sits there.
struct Typist {
    program: Child,
    keyboard: Arc<OwnedFd>,
    /// The terminal as the program has it.
    terminal: OwnedFd,
    screen: Arc<Mutex<String>>,
}

impl Typist {
    fn chat(place: &Place, upstream: &Upstream) -> Self {
        let keyboard = Arc::new(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
        grantpt(&*keyboard).unwrap();
        unlockpt(&*keyboard).unwrap();
        let path = ptsname(&*keyboard, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let terminal = rustix::fs::open(&*path, flags, Mode::empty()).unwrap();
        let model = format!("openai:m@{}/v1", upstream.url());
        let args = ["chat", "--store", "s.db", "--prompt-limit", "4000", "--model", &model];
        let own = || Stdio::from(terminal.try_clone().unwrap());
        let mut command = place.command(args);
        command.env("TERM", "xterm").stdin(own()).stdout(own()).stderr(own());
        let program = command.spawn().unwrap();
        let screen = Arc::new(Mutex::new(String::new()));
        let (seen, shown) = (Arc::clone(&screen), Arc::clone(&keyboard));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = rustix::io::read(&*shown, &mut bytes) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        Self { program, keyboard, terminal, screen }
    }

    /// Waits until this is on the screen.
    fn until(&self, shown: &str) {
        for _ in 0..LOOKS {
            if self.screen().contains(shown) {
                return;
            }
            thread::sleep(PAUSE);
        }
        panic!("{shown:?} is not in {:?}", self.screen());
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Types all of this at once.
    fn types(&self, keys: &str) {
        assert_eq!(rustix::io::write(&*self.keyboard, keys.as_bytes()).unwrap(), keys.len());
    }

    /// Waits until the program ends by itself; its exit code.
    fn ended(&mut self) -> Option<i32> {
        for _ in 0..LOOKS {
            if let Some(status) = self.program.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(PAUSE);
        }
        None
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        drop(self.program.kill());
        drop(self.program.wait());
    }
}

fn answering(text: &str, pace: u64) -> Script {
    let turns = vec![Turn { text: text.to_owned(), ..Turn::default() }];
    Script { turns, repeat: 9, pace, ..Script::default() }
}

/// What was said last in each prompt.
fn said(upstream: &Upstream) -> Vec<String> {
    let last = |body: &serde_json::Value| {
        let messages = body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    upstream.prompts().iter().map(|prompt| last(&prompt.body)).collect()
}

#[test]
fn lines_that_come_in_one_piece_are_all_said() {
    let (place, upstream) = (Place::new(), Upstream::start(answering("Noted.", 0)).unwrap());
    let mut typist = Typist::chat(&place, &upstream);
    typist.until("> ");
    typist.types("one\rtwo\rthree\r/quit\r");
    assert_eq!(typist.ended(), Some(0), "{}", typist.screen());
    assert_eq!(said(&upstream), ["one", "two", "three"], "{}", typist.screen());
}

#[test]
fn a_ctrl_d_in_one_piece_with_a_line_ends_behind_its_answer() {
    let (place, upstream) = (Place::new(), Upstream::start(answering("Noted.", 0)).unwrap());
    let mut typist = Typist::chat(&place, &upstream);
    typist.until("> ");
    typist.types("one\r\x04");
    assert_eq!(typist.ended(), Some(0), "{}", typist.screen());
    assert_eq!(said(&upstream), ["one"], "{}", typist.screen());
}

#[test]
fn a_ctrl_d_while_an_answer_comes_ends_behind_it() {
    let answer = "It comes slowly, word by word, and this is its end.";
    let (place, upstream) = (Place::new(), Upstream::start(answering(answer, 40)).unwrap());
    let mut typist = Typist::chat(&place, &upstream);
    typist.until("> ");
    typist.types("one\r");
    typist.until("It comes");
    typist.types("two\r\x04");
    assert_eq!(typist.ended(), Some(0), "{}", typist.screen());
    assert_eq!(said(&upstream), ["one", "two"], "{}", typist.screen());
    assert_eq!(typist.screen().matches("this is its end.").count(), 2, "{}", typist.screen());
    // The key means to the shell what it meant before.
    let after = tcgetattr(&typist.terminal).unwrap();
    assert_eq!(after.special_codes[SpecialCodeIndex::VEOF], 4);
}
