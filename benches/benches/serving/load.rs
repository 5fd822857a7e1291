//! The requests, and how long they take.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt, TryStreamExt};
use futures::{AsyncRead, AsyncReadExt};
use http::Request;
use kube::Client;
use serde_json::json;

use crate::Error;
use crate::subject::{Stage, Subject};

/// How many requests are under way at the same time.
const CONCURRENCY: usize = 16;
/// How many requests are made to measure one kind of them.
const REQUESTS: usize = 10_000;
/// How many objects are read and changed by name.
const NAMED: usize = 100;
/// How many times a list is read.
const LISTS: usize = 5;
/// How long the events may take to arrive.
const PATIENCE: Duration = Duration::from_mins(15);
const NAMESPACE: &str = "default";

/// How much is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// The smaller number of objects.
    pub(crate) few: usize,
    /// The larger number of objects.
    pub(crate) many: usize,
    /// How many watches there are.
    pub(crate) watches: usize,
    /// How many events each of them receives.
    pub(crate) events: usize,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            few: 10_000,
            many: 100_000,
            watches: 1_000,
            events: 10_000,
        }
    }
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Objects created in a second.
    pub(crate) creates: f64,
    /// Objects read by name in a second.
    pub(crate) gets: f64,
    /// Milliseconds for a list of few objects.
    pub(crate) list_few: f64,
    /// Milliseconds for a list of many objects.
    pub(crate) list_many: f64,
    /// Thousand events delivered in a second, to all watches together.
    pub(crate) events: f64,
    /// Resident memory with many objects, in MB.
    pub(crate) memory: f64,
}

impl Load {
    pub(crate) async fn run(&self, stage: &Stage, subject: Subject) -> Result<Figures, Error> {
        let client = stage.client(subject).await?;
        let objects = Objects {
            client,
            group: subject.group(),
        };
        let mut figures = Figures {
            creates: objects.create(0..self.few).await?,
            ..Figures::default()
        };
        figures.gets = objects.gets().await?;
        figures.list_few = objects.list(self.few).await?;
        figures.events = objects.events(self.watches, self.events).await?;
        objects.create(self.few..self.many).await?;
        figures.list_many = objects.list(self.many).await?;
        figures.memory = stage.memory(subject);
        Ok(figures)
    }
}

/// The objects of a subject.
struct Objects {
    client: Client,
    group: &'static str,
}

impl Objects {
    fn path(&self) -> String {
        format!(
            "/apis/{}/v1alpha1/namespaces/{NAMESPACE}/health",
            self.group
        )
    }

    /// Sends a request. Returns the length of the answer.
    async fn send(&self, request: http::request::Builder, body: Vec<u8>) -> Result<usize, Error> {
        let request = request.body(body).map_err(kube::Error::HttpError)?;
        Ok(self.client.request_text(request).await?.len())
    }

    /// Makes requests, several at the same time. Returns how many were answered in a second.
    async fn many<F: Future<Output = Result<usize, Error>>>(
        &self,
        numbers: std::ops::Range<usize>,
        request: impl Fn(usize) -> F,
    ) -> Result<f64, Error> {
        let (count, start) = (numbers.len(), Instant::now());
        let requests = stream::iter(numbers).map(request);
        let answers = requests.buffer_unordered(CONCURRENCY);
        answers.try_for_each(async |_| Ok(())).await?;
        Ok(count as f64 / start.elapsed().as_secs_f64())
    }

    async fn create(&self, numbers: std::ops::Range<usize>) -> Result<f64, Error> {
        self.many(numbers, |number| {
            let object = json!({
                "apiVersion": format!("{}/v1alpha1", self.group), "kind": "Health",
                "metadata": {
                    "name": format!("health-{number:06}"), "labels": {"app": "shop"},
                    "annotations": {"example.org/note": "created by the benchmark"}
                },
                "ready": number, "phase": "Running",
                "spec": {"ports": [80, 443], "host": format!("host-{number}.example.org")}
            });
            let request = Request::post(self.path()).header("content-type", "application/json");
            self.send(request, object.to_string().into_bytes())
        })
        .await
    }

    async fn gets(&self) -> Result<f64, Error> {
        let get = |number: usize| {
            let name = number % NAMED;
            let request = Request::get(format!("{}/health-{name:06}", self.path()));
            self.send(request, Vec::new())
        };
        // The first time, permissions are looked up.
        self.many(0..NAMED, get).await?;
        self.many(0..REQUESTS, get).await
    }

    /// The median time of a whole list, in milliseconds.
    async fn list(&self, count: usize) -> Result<f64, Error> {
        let mut times = Vec::new();
        for _ in 0..LISTS {
            let start = Instant::now();
            let length = self.send(Request::get(self.path()), Vec::new()).await?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            if length < count * 200 {
                let text = format!("a list of {count} objects has only {length} bytes");
                return Err(Error::Unexpected(text));
            }
        }
        times.sort_by(f64::total_cmp);
        Ok(times[LISTS / 2])
    }

    /// Opens watches and makes changes. Returns how many thousand events arrived in a second.
    async fn events(&self, watches: usize, events: usize) -> Result<f64, Error> {
        let version = self.version().await?;
        let mut readers = Vec::new();
        for _ in 0..watches {
            let path = format!("{}?watch=1&resourceVersion={version}", self.path());
            let request = Request::get(path).body(Vec::new());
            let request = request.map_err(kube::Error::HttpError)?;
            readers.push(Box::pin(self.client.request_stream(request).await?));
        }
        let start = Instant::now();
        let readers = readers
            .into_iter()
            .map(|reader| tokio::spawn(read(reader, events)));
        let readers: Vec<_> = readers.collect();
        self.many(0..events, |number| {
            let name = number % NAMED;
            let request = Request::patch(format!("{}/health-{name:06}", self.path()))
                .header("content-type", "application/merge-patch+json");
            self.send(
                request,
                format!("{{\"ready\":{}}}", number + 1_000_000).into_bytes(),
            )
        })
        .await?;
        for reader in readers {
            let read = tokio::time::timeout(PATIENCE, reader).await;
            let read = read.map_err(|_| Error::Unexpected("events do not arrive".to_owned()))?;
            read.map_err(|error| Error::Unexpected(error.to_string()))??;
        }
        let all = (watches * events) as f64;
        Ok(all / 1e3 / start.elapsed().as_secs_f64())
    }

    async fn version(&self) -> Result<String, Error> {
        let request = Request::get(format!("{}?limit=1", self.path())).body(Vec::new());
        let request = request.map_err(kube::Error::HttpError)?;
        let list: serde_json::Value = self.client.request(request).await?;
        let version = list["metadata"]["resourceVersion"].as_str();
        version
            .map(str::to_owned)
            .ok_or_else(|| Error::Unexpected(list.to_string()))
    }
}

/// Reads so many lines of a watch.
async fn read(mut watch: impl AsyncRead + Unpin, events: usize) -> Result<(), Error> {
    let mut buffer = vec![0; 64 * 1024];
    let mut lines = 0;
    while lines < events {
        let length = watch.read(&mut buffer).await?;
        if length == 0 {
            let text = format!("a watch ended after {lines} of {events} events");
            return Err(Error::Unexpected(text));
        }
        lines += buffer[..length].split(|byte| *byte == b'\n').count() - 1;
    }
    Ok(())
}
