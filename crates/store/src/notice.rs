//! A value and its readers, who are notified in the order in which they subscribed.
//!
//! A `watch` channel wakes the tasks that wait for it in random order, so that a run with several
//! readers could not be repeated. Here every reader has a channel of its own.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// A value and its readers.
#[derive(Debug)]
pub struct Notice<T> {
    value: T,
    readers: Mutex<Vec<watch::Sender<T>>>,
}

impl<T: Clone + Default> Default for Notice<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Clone> Notice<T> {
    /// A value without readers.
    pub fn new(value: T) -> Self {
        Self {
            value,
            readers: Mutex::default(),
        }
    }

    /// The current value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// A new reader. It has seen the current value.
    pub fn subscribe(&self) -> watch::Receiver<T> {
        let (sender, receiver) = watch::channel(self.value.clone());
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|reader| !reader.is_closed());
        readers.push(sender);
        receiver
    }

    /// Sets the value and notifies the readers, in order.
    pub fn set(&mut self, value: T) {
        let readers = self.readers.get_mut();
        let readers = readers.unwrap_or_else(PoisonError::into_inner);
        // Sending fails if the reader is gone.
        readers.retain(|reader| reader.send(value.clone()).is_ok());
        self.value = value;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test]
    async fn readers_are_notified_in_order() {
        let mut notice = Notice::new(0);
        let seen = Arc::new(Mutex::new(Vec::new()));
        for number in 0..32 {
            let (mut reader, seen) = (notice.subscribe(), seen.clone());
            tokio::spawn(async move {
                reader.changed().await.unwrap();
                seen.lock().unwrap().push(number);
            });
        }
        tokio::task::yield_now().await;
        notice.set(1);
        tokio::task::yield_now().await;
        assert_eq!(*seen.lock().unwrap(), (0..32).collect::<Vec<_>>());
    }

    #[test]
    fn readers_that_are_gone_are_forgotten() {
        let mut notice = Notice::new(0);
        let stays = notice.subscribe();
        drop(notice.subscribe());
        notice.set(1);
        assert_eq!(notice.readers.lock().unwrap().len(), 1);
        drop(stays);
        let reader = notice.subscribe();
        assert_eq!(notice.readers.lock().unwrap().len(), 1);
        assert_eq!((*reader.borrow(), *notice.value()), (1, 1));
    }
}
