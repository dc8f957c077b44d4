//! Several futures that run side by side, so many of them at a time.
//!
//! Invariant: what they come to stands in their order, whichever is done first; none is started before
//! one of those that run is done. Used where models are asked.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// A future of the row: its place, and the future while it runs.
type Running<'f, T> = (usize, Pin<Box<dyn Future<Output = T> + Send + 'f>>);

/// Returns what all of these come to, at most `most` of them running at the same time.
pub(crate) async fn at_once<'f, T, F>(futures: impl IntoIterator<Item = F>, most: usize) -> Vec<T>
where
    F: Future<Output = T> + Send + 'f,
{
    row(futures, most, |_| false).await
}

/// Returns the same where none fails. With the first that fails the others are dropped.
///
/// # Errors
///
/// What the first of those that failed came to.
pub(crate) async fn try_at_once<'f, T, E, F>(
    futures: impl IntoIterator<Item = F>,
    most: usize,
) -> Result<Vec<T>, E>
where
    F: Future<Output = Result<T, E>> + Send + 'f,
{
    row(futures, most, Result::is_err).await.into_iter().collect()
}

/// What they come to, until all are done or one of them is the last that is wanted.
async fn row<'f, T, F>(
    futures: impl IntoIterator<Item = F>,
    most: usize,
    is_last: impl Fn(&T) -> bool,
) -> Vec<T>
where
    F: Future<Output = T> + Send + 'f,
{
    let mut waiting = futures.into_iter().enumerate();
    let mut running: Vec<Running<'f, T>> = Vec::new();
    let mut done: Vec<(usize, T)> = Vec::new();
    poll_fn(|context| {
        loop {
            let room = most.max(1) - running.len();
            let next = waiting.by_ref().take(room);
            running.extend(next.map(|(place, one)| -> Running<'f, T> { (place, Box::pin(one)) }));
            let before = done.len();
            running.retain_mut(|(place, one)| match one.as_mut().poll(context) {
                Poll::Ready(value) => {
                    done.push((*place, value));
                    false
                }
                Poll::Pending => true,
            });
            let new = &done[before..];
            if running.is_empty() && new.is_empty() || new.iter().any(|(_, it)| is_last(it)) {
                return Poll::Ready(());
            }
            if new.is_empty() {
                return Poll::Pending;
            }
        }
    })
    .await;
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn what_they_come_to_stands_in_their_order() {
        let finished = Mutex::new(Vec::new());
        let later = |number: usize| {
            let finished = &finished;
            async move {
                for _ in 0..10 - number {
                    yield_now().await;
                }
                finished.lock().unwrap().push(number);
                number * number
            }
        };
        assert_eq!(at_once((0..4).map(later), 4).await, [0, 1, 4, 9]);
        assert_eq!(*finished.lock().unwrap(), [3, 2, 1, 0]);
        assert_eq!(at_once((0..0).map(later), 4).await, [0; 0]);
    }

    #[tokio::test]
    async fn no_more_run_than_may() {
        for (most, expected) in [(0, 1), (1, 1), (3, 3), (9, 7)] {
            let (running, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let one = |number: usize| {
                let (running, peak) = (&running, &peak);
                async move {
                    peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    for _ in 0..=number {
                        yield_now().await;
                    }
                    running.fetch_sub(1, Ordering::SeqCst);
                }
            };
            assert_eq!(at_once((0..7).map(one), most).await.len(), 7);
            assert_eq!(peak.load(Ordering::SeqCst), expected, "{most} may run");
        }
    }

    #[tokio::test]
    async fn with_the_first_that_fails_no_other_is_begun() {
        let begun = AtomicUsize::new(0);
        let one = |number: usize| {
            let begun = &begun;
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                yield_now().await;
                if number == 2 { Err(number) } else { Ok(number) }
            }
        };
        assert_eq!(try_at_once((0..9).map(one), 1).await, Err(2));
        assert_eq!(begun.load(Ordering::SeqCst), 3);
        assert_eq!(try_at_once((0..2).map(one), 4).await, Ok(vec![0, 1]));
    }

    #[tokio::test]
    async fn one_that_waits_for_another_is_woken() {
        let (send, receive) = tokio::sync::oneshot::channel();
        let send = Mutex::new(Cell::new(Some(send)));
        let receive = Mutex::new(Cell::new(Some(receive)));
        let one = |number: usize| {
            let (send, receive) = (&send, &receive);
            async move {
                if number == 0 {
                    let receive = receive.lock().unwrap().take();
                    return receive.unwrap().await.unwrap();
                }
                yield_now().await;
                let send = send.lock().unwrap().take();
                send.unwrap().send(7).unwrap();
                1
            }
        };
        assert_eq!(at_once((0..2).map(one), 2).await, [7, 1]);
    }
}
