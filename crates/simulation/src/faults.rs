//! Faults: decided for each request, from a random sequence of their own.

use std::collections::VecDeque;
use std::time::Duration;

use crate::api::ApiRequest;
use crate::api::refusal::Refusal;
use seeded::Random;

/// The fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Status 429, with `Retry-After` in seconds; the request is not carried out.
    Busy(u64),
    /// An answer with this status; the request is not carried out.
    Answer(u16),
    /// Status 403, for a missing permission; the request is not carried out.
    Forbidden,
    /// Status 404, for an unknown kind; the request is not carried out.
    NotServed,
    /// The request is carried out only after this time.
    Slow(Duration),
    /// The request is carried out, and the answer takes this time.
    SlowAnswer(Duration),
    /// A write is carried out, and the answer shows the object as it was before.
    OldAnswer,
    /// The connection breaks before the request is carried out.
    Lost,
    /// The request is carried out, and the connection breaks before the answer arrives.
    LostAnswer,
    /// The request is not carried out, and no answer ever arrives.
    Silence,
    /// The request is carried out, and no answer ever arrives.
    SilentAnswer,
    /// The process dies after sending the request; the value says whether it is carried out.
    Crash(bool),
}

impl Fault {
    /// Whether the request is carried out.
    pub fn is_done(self) -> bool {
        match self {
            Self::None
            | Self::Slow(_)
            | Self::SlowAnswer(_)
            | Self::OldAnswer
            | Self::LostAnswer
            | Self::SilentAnswer => true,
            Self::Crash(done) => done,
            Self::Busy(_)
            | Self::Answer(_)
            | Self::Forbidden
            | Self::NotServed
            | Self::Lost
            | Self::Silence => false,
        }
    }

    /// Whether no answer arrives.
    pub fn is_silent(self) -> bool {
        matches!(self, Self::Silence | Self::SilentAnswer)
    }

    /// Whether the process dies.
    pub fn is_crash(self) -> bool {
        matches!(self, Self::Crash(_))
    }

    /// Whether the connection breaks instead of an answer.
    pub fn breaks(self) -> bool {
        matches!(self, Self::Lost | Self::LostAnswer)
    }

    /// How much longer the request and its answer take.
    pub fn slowness(self) -> (Duration, Duration) {
        match self {
            Self::Slow(slowness) => (slowness, Duration::ZERO),
            Self::SlowAnswer(slowness) => (Duration::ZERO, slowness),
            _ => (Duration::ZERO, Duration::ZERO),
        }
    }

    /// The error that is returned instead.
    pub fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Busy(_) => Some(Refusal::new(429, "TooManyRequests", "slow down")),
            Self::Forbidden => Some(Refusal::forbidden()),
            Self::NotServed => Some(Refusal::no_resource()),
            Self::Answer(503) => Some(Refusal::new(503, "ServiceUnavailable", "not now")),
            Self::Answer(504) => Some(Refusal::new(504, "Timeout", "not in time")),
            Self::Answer(409) => Some(Refusal::conflict()),
            Self::Answer(422) => Some(Refusal::new(422, "Invalid", "injected")),
            Self::Answer(code) => Some(Refusal::new(code, "InternalError", "injected")),
            _ => None,
        }
    }

    /// The `Retry-After` header of a [`Fault::Busy`].
    pub fn retry_after(self) -> Option<u64> {
        match self {
            Self::Busy(seconds) => Some(seconds),
            _ => None,
        }
    }
}

/// How the connection of a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// With an error.
    Error,
    /// With a regular end of the stream.
    End,
    /// Without an end: nothing arrives any more, and the client has to notice it.
    Silence,
}

/// Decides on faults.
#[derive(Debug)]
pub struct Faults {
    random: Random,
    /// The percentage of requests that fail.
    rate: usize,
    /// Whether the process dies with the next write.
    crash: bool,
    /// The faults of the next requests, used before random ones.
    script: VecDeque<Fault>,
    /// The faults of all requests whose method and path contain a text.
    always: Vec<(String, Fault)>,
    /// Whether messages take time.
    delays: bool,
}

impl Faults {
    /// No faults yet.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed ^ 0xfa_017),
            rate: 0,
            crash: false,
            script: VecDeque::new(),
            always: Vec::new(),
            delays: true,
        }
    }

    /// From now on, messages take no time.
    pub fn no_delays(&mut self) {
        self.delays = false;
    }

    /// Sets the faults of the next requests.
    pub fn script(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.script = faults.into_iter().collect();
    }

    /// From now on, every request whose line, `METHOD path`, contains this text has this fault.
    pub fn always(&mut self, part: &str, fault: Fault) {
        self.always.retain(|(of, _)| of != part);
        self.always.push((part.to_owned(), fault));
    }

    /// Sets the percentage of requests that fail.
    pub fn rate(&mut self, percent: usize) {
        self.rate = percent;
    }

    /// Ends all faults.
    pub fn cease(&mut self) {
        self.rate = 0;
        self.crash = false;
    }

    /// The process that sends the next write dies after it.
    pub fn crash_with_next_write(&mut self) {
        self.crash = true;
    }

    /// The fault of a request.
    pub fn decide(&mut self, request: &ApiRequest) -> Fault {
        if let Some(fault) = self.script.pop_front() {
            return fault;
        }
        let line = format!("{} {}", request.method, request.path);
        let mut always = self.always.iter();
        if let Some((_, fault)) = always.find(|(part, _)| line.contains(part)) {
            return *fault;
        }
        if self.crash && request.is_write() {
            self.crash = false;
            return Fault::Crash(self.random.chance(60));
        }
        if !self.random.chance(self.rate) {
            return Fault::None;
        }
        match self.random.below(14) {
            10 => Fault::Forbidden,
            11 if request.is_write() => Fault::Lost,
            11 => Fault::NotServed,
            0 => Fault::Busy(self.random.range(1..6)),
            1 => Fault::Answer(500),
            2 => Fault::Answer(503),
            3 => Fault::Answer(504),
            4 => Fault::Slow(self.slowness()),
            12 | 13 => Fault::SlowAnswer(self.slowness()),
            5 => Fault::Lost,
            6 | 7 => Fault::LostAnswer,
            8 => Fault::Silence,
            _ => Fault::SilentAnswer,
        }
    }

    /// A delay, up to longer than any client waits.
    fn slowness(&mut self) -> Duration {
        let longest = *self.random.pick(&[1_000, 5_000, 45_000]);
        Duration::from_millis(self.random.range(0..longest))
    }

    /// After how many lines a new watch breaks. Its first `lines` are the initial list.
    pub fn cut(&mut self, lines: u64) -> Option<(u64, Cut)> {
        if !self.random.chance(self.rate) {
            return None;
        }
        // Within the list as often as after it.
        let after = if self.random.chance(50) {
            self.random.range(0..lines + 1)
        } else {
            lines + self.random.range(0..20)
        };
        let cut = *self.random.pick(&[Cut::Error, Cut::End, Cut::Silence]);
        Some((after, cut))
    }

    /// How long a message takes: usually short, sometimes longer.
    pub fn delay(&mut self) -> Duration {
        if !self.delays {
            return Duration::ZERO;
        }
        let longest = *self.random.pick(&[2, 2, 5, 20]);
        let longest = if self.rate > 0 { longest * 5 } else { longest };
        Duration::from_millis(self.random.range(0..longest))
    }

    /// True with this probability in percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.random.chance(percent)
    }
}
