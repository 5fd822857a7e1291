//! What goes wrong: decided for each request, from random numbers of its own.

use std::collections::VecDeque;
use std::time::Duration;

use crate::api::Asked;
use crate::api::refusal::Refusal;
use seeded::Random;

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// 429, with `Retry-After` in seconds; nothing is done.
    Busy(u64),
    /// An answer of this status; nothing is done.
    Answer(u16),
    /// 403: a permission is missing; nothing is done.
    Forbidden,
    /// 404: the kind is not served; nothing is done.
    NotServed,
    /// It is done, but only after this time.
    Slow(Duration),
    /// It is done, but the answer takes this time.
    SlowAnswer(Duration),
    /// The connection breaks before it is done.
    Lost,
    /// It is done, and the connection breaks before the answer arrives.
    LostAnswer,
    /// It is not done, and no answer ever comes.
    Silence,
    /// It is done, and no answer ever comes.
    SilentAnswer,
    /// The process dies when it has sent this; whether it is done is the value.
    Crash(bool),
}

impl Fault {
    /// Whether the server does what is asked for.
    pub fn is_done(self) -> bool {
        match self {
            Self::None
            | Self::Slow(_)
            | Self::SlowAnswer(_)
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

    /// Whether no answer comes.
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

    /// What is answered instead.
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

    /// The header of a [`Fault::Busy`].
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
    /// As if the server were done.
    End,
    /// Nothing comes any more, and the client has to find out.
    Silence,
}

/// Decides what goes wrong.
#[derive(Debug)]
pub struct Faults {
    random: Random,
    /// How many of a hundred requests fail.
    rate: usize,
    /// Whether the process dies with the next write.
    crash: bool,
    /// What happens to the next requests, before chance decides.
    script: VecDeque<Fault>,
    /// What happens to all requests whose method and path contain a text.
    always: Vec<(String, Fault)>,
    /// Whether messages take time.
    delays: bool,
}

impl Faults {
    /// Nothing goes wrong yet.
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

    /// From now on messages take no time.
    pub fn no_delays(&mut self) {
        self.delays = false;
    }

    /// This happens to the next requests.
    pub fn script(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.script = faults.into_iter().collect();
    }

    /// This happens to every request from now on whose line, `METHOD path`, contains a text.
    pub fn always(&mut self, part: &str, fault: Fault) {
        self.always.retain(|(of, _)| of != part);
        self.always.push((part.to_owned(), fault));
    }

    /// From now on so many of a hundred requests fail.
    pub fn rate(&mut self, percent: usize) {
        self.rate = percent;
    }

    /// From now on all is well.
    pub fn cease(&mut self) {
        self.rate = 0;
        self.crash = false;
    }

    /// The process that sends the next write dies with it.
    pub fn crash_with_next_write(&mut self) {
        self.crash = true;
    }

    /// What goes wrong with a request.
    pub fn decide(&mut self, asked: &Asked) -> Fault {
        if let Some(fault) = self.script.pop_front() {
            return fault;
        }
        let line = format!("{} {}", asked.method, asked.path);
        let mut always = self.always.iter();
        if let Some((_, fault)) = always.find(|(part, _)| line.contains(part)) {
            return *fault;
        }
        if self.crash && asked.is_write() {
            self.crash = false;
            return Fault::Crash(self.random.chance(60));
        }
        if !self.random.chance(self.rate) {
            return Fault::None;
        }
        match self.random.below(14) {
            10 => Fault::Forbidden,
            11 if asked.is_write() => Fault::Lost,
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

    /// Up to more than any client waits for.
    fn slowness(&mut self) -> Duration {
        let longest = *self.random.pick(&[1_000, 5_000, 45_000]);
        Duration::from_millis(self.random.range(0..longest))
    }

    /// After how many lines a new watch breaks, of which the first `lines` are its list.
    pub fn cut(&mut self, lines: u64) -> Option<(u64, Cut)> {
        if !self.random.chance(self.rate) {
            return None;
        }
        // In the middle of the list as often as after it.
        let after = if self.random.chance(50) {
            self.random.range(0..lines + 1)
        } else {
            lines + self.random.range(0..20)
        };
        let cut = *self.random.pick(&[Cut::Error, Cut::End, Cut::Silence]);
        Some((after, cut))
    }

    /// How long a message is on its way: short, and sometimes not so short.
    pub fn delay(&mut self) -> Duration {
        if !self.delays {
            return Duration::ZERO;
        }
        let longest = *self.random.pick(&[2, 2, 5, 20]);
        let longest = if self.rate > 0 { longest * 5 } else { longest };
        Duration::from_millis(self.random.range(0..longest))
    }

    /// Whether something happens that happens in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.random.chance(percent)
    }
}
