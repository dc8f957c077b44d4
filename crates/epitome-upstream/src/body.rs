//! The bodies of answers: steps that send, wait, or break.
//!
//! Invariant: the log learns how a body ended, whoever ended it. Made by `server`.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future as _;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

/// What a body does next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends a chunk.
    Send(Bytes),
    /// Pauses.
    Wait(Duration),
    /// Sends nothing more and does not end.
    Never,
    /// Cuts the connection.
    Break,
}

/// A body that follows steps.
pub(crate) struct Steps {
    steps: VecDeque<Step>,
    pause: Option<Pin<Box<Sleep>>>,
    /// Told `true` at the end, `false` when dropped before.
    ended: Option<Box<dyn FnOnce(bool) + Send>>,
}

/// The error of a body that is cut on purpose.
#[derive(Debug)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut on purpose")
    }
}

impl std::error::Error for Broken {}

impl Steps {
    /// A body, and who wants to know how it ended.
    pub(crate) fn new(
        steps: impl IntoIterator<Item = Step>,
        ended: impl FnOnce(bool) + Send + 'static,
    ) -> Self {
        let steps = steps.into_iter().collect();
        Self { steps, pause: None, ended: Some(Box::new(ended)) }
    }

    fn end(&mut self, whole: bool) {
        if let Some(ended) = self.ended.take() {
            ended(whole);
        }
    }
}

impl Body for Steps {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            match self.steps.pop_front() {
                Some(Step::Send(chunk)) => {
                    if self.steps.is_empty() {
                        self.end(true);
                    }
                    return Poll::Ready(Some(Ok(Frame::data(chunk))));
                }
                Some(Step::Wait(pause)) => self.pause = Some(Box::pin(tokio::time::sleep(pause))),
                Some(Step::Break) => {
                    self.end(true);
                    return Poll::Ready(Some(Err(Broken)));
                }
                Some(Step::Never) => {
                    self.steps.push_front(Step::Never);
                    return Poll::Pending;
                }
                None => {
                    self.end(true);
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match self.steps.iter().collect::<Vec<_>>().as_slice() {
            [] => SizeHint::with_exact(0),
            [Step::Send(only)] => SizeHint::with_exact(only.len() as u64),
            _ => SizeHint::default(),
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Compresses chunks, so that each can be unpacked as soon as it is there.
pub(crate) fn packed(chunks: Vec<Bytes>) -> std::io::Result<Vec<Bytes>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    let mut packed = Vec::new();
    for chunk in chunks {
        packer.write_all(&chunk)?;
        packer.flush()?;
        packed.push(Bytes::from(std::mem::take(packer.get_mut())));
    }
    packed.push(Bytes::from(packer.finish()?));
    Ok(packed)
}

/// The same bytes in chunks of one size, wherever events end.
pub(crate) fn recut(events: &[Bytes], size: usize) -> Vec<Bytes> {
    let whole = Bytes::from(events.concat());
    (0..whole.len())
        .step_by(size.max(1))
        .map(|at| whole.slice(at..whole.len().min(at + size)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn chunks_are_recut_and_packed_without_loss() {
        let events = [Bytes::from_static(b"data: one\n\n"), Bytes::from_static(b"data: two\n\n")];
        let cut = recut(&events, 7);
        assert_eq!(cut.iter().map(Bytes::len).collect::<Vec<_>>(), [7, 7, 7, 1]);
        assert_eq!(cut.concat(), events.concat());
        let mut text = String::new();
        let packed = packed(cut).unwrap().concat();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text.as_bytes(), events.concat());
    }
}
