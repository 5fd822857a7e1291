//! Bodies that are sent piece by piece.
//!
//! A body that is handed over as a whole counts as sent at once, however slowly its client reads.
//! In pieces, it lasts until the client has taken nearly all of it, and so do its permits.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;

use crate::answer::Body;

/// The largest piece, in bytes.
pub(crate) const PIECE: usize = 64 * 1024;

/// Bytes that are sent in pieces.
pub(crate) struct Pieces(pub(crate) Bytes);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.0.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.0.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

/// A body that keeps something until it has been sent or given up.
struct Holding<T> {
    body: Body,
    _held: T,
}

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Keeps something until the response has been sent or given up.
pub(crate) fn holding<T: Unpin + Send + 'static>(
    response: Response<Body>,
    held: T,
) -> Response<Body> {
    response.map(|body| Holding { body, _held: held }.boxed_unsync())
}

/// The length of the text of a response that is written while it is sent, roughly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextLength(pub(crate) usize);

/// The length of a response.
pub(crate) fn length(response: &Response<Body>) -> usize {
    if let Some(TextLength(length)) = response.extensions().get() {
        return *length;
    }
    let exact = response.body().size_hint().exact();
    exact
        .and_then(|exact| usize::try_from(exact).ok())
        .unwrap_or_default()
}
