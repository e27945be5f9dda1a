//! A tray that takes inputs, a bounded number of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::input::Input;
use ports::inputs::{Inputs, NotTaken};

/// Keeps what it is given until a test takes it. Clones are handles on the same tray.
#[derive(Clone)]
pub struct Tray {
    inner: Arc<Mutex<Inner>>,
    most: usize,
}

#[derive(Default)]
struct Inner {
    kept: VecDeque<Input>,
    closed: bool,
}

impl Tray {
    /// A tray with room for `most` inputs.
    pub fn new(most: usize) -> Self {
        Self { inner: Arc::default(), most }
    }

    /// Takes everything out, oldest first.
    pub fn take(&self) -> Vec<Input> {
        self.lock().kept.drain(..).collect()
    }

    /// Takes no more from here on.
    pub fn close(&self) {
        self.lock().closed = true;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A test that panicked elsewhere still wants to look at the tray.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Inputs for Tray {
    fn try_give(&self, input: Input) -> Result<(), NotTaken> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(NotTaken::Closed);
        }
        if inner.kept.len() >= self.most {
            return Err(NotTaken::Full(Box::new(input)));
        }
        inner.kept.push_back(input);
        Ok(())
    }

    async fn give(&self, input: Input) {
        let mut input = input;
        loop {
            match self.try_give(input) {
                Ok(()) | Err(NotTaken::Closed) => return,
                Err(NotTaken::Full(back)) => input = *back,
            }
            // Somebody else empties the tray; let them. No clock and no runtime is needed for that.
            let mut waited = false;
            std::future::poll_fn(|context| {
                if std::mem::replace(&mut waited, true) {
                    return std::task::Poll::Ready(());
                }
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            })
            .await;
        }
    }
}
