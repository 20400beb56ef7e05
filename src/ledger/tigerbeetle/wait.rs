//! Waits for a future on a plain thread, without a runtime, and not for ever: TigerBeetle's
//! client retries without end against a server that is down.

use std::{
    pin::{Pin, pin},
    sync::{Arc, Condvar, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use anyhow::Result;

use super::log;
use crate::watchdog;

/// Set by the client's own thread when a reply is there.
#[derive(Debug, Default)]
struct Signal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}

impl Signal {
    /// Waits until it is set and clears it; false after `timeout`.
    fn take(&self, timeout: Duration) -> bool {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut is_set, _) = self
            .changed
            .wait_timeout_while(is_set, timeout, |is_set| !*is_set)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut is_set)
    }
}

/// Waits for one future at a time; made once a client, so that a request allocates nothing here.
#[derive(Debug)]
pub struct Waiter {
    signal: Arc<Signal>,
    waker: Waker,
    timeout: Duration,
}

impl Waiter {
    /// A waiter that gives up after `timeout`.
    pub fn new(timeout: Duration) -> Self {
        let signal = Arc::new(Signal::default());
        Self { waker: Waker::from(Arc::clone(&signal)), signal, timeout }
    }

    /// Looks at a future once, without waiting. It then wakes this waiter.
    pub fn poll<F: Future + ?Sized>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(&self.waker))
    }

    /// The future's value. A future that was given up is dropped; a late wake-up of it only
    /// makes the next wait look once more.
    pub fn wait<F: Future>(&self, future: F) -> Result<F::Output> {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(value) = self.poll(future.as_mut()) {
                return Ok(value);
            }
            if !self.signal.take(self.timeout) {
                let error = watchdog::no_reply(self.timeout);
                return Err(match log::last_words() {
                    Some(words) => anyhow::anyhow!("{error} The client's last words: {words}"),
                    None => error,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future, thread};

    #[test]
    fn a_value_that_is_there_is_returned_at_once() {
        let waiter = Waiter::new(Duration::ZERO);
        assert_eq!(waiter.wait(future::ready(7)).expect("ready"), 7);
    }

    #[test]
    fn a_value_from_another_thread_is_waited_for() {
        let waiter = Waiter::new(Duration::from_secs(60));
        let mut polls = 0;
        let value = waiter.wait(future::poll_fn(|context| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready("late");
            }
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            Poll::Pending
        }));
        assert_eq!(value.expect("it was woken"), "late");
    }

    #[test]
    fn a_future_that_is_never_woken_is_given_up() {
        let waiter = Waiter::new(Duration::from_millis(1));
        let error = waiter.wait(future::pending::<()>()).expect_err("never ready");
        assert!(error.to_string().contains("no reply within 1ms"), "{error}");
    }

    #[test]
    fn a_late_wake_up_of_a_given_up_future_is_harmless() {
        let waiter = Waiter::new(Duration::from_millis(1));
        waiter.wait(future::pending::<()>()).expect_err("never ready");
        waiter.waker.wake_by_ref();
        waiter.wait(future::pending::<()>()).expect_err("the stale signal is no value");
    }
}
