//! How many requests for `ConfigMap`s the API server has answered, as its metrics say.

use kube::Client;

use crate::Error;

/// Numbers of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Requests {
    /// For one object.
    pub(crate) reads: f64,
    /// To create, change or delete one.
    pub(crate) writes: f64,
}

impl Requests {
    pub(crate) async fn so_far(client: &Client) -> Result<Self, Error> {
        let request = http::Request::get("/metrics").body(Vec::new());
        let request = request.map_err(kube::Error::HttpError)?;
        Ok(Self::read(&client.request_text(request).await?))
    }

    fn read(metrics: &str) -> Self {
        let mut requests = Self::default();
        let lines = metrics.lines();
        let lines = lines.filter_map(|line| line.strip_prefix("apiserver_request_total{"));
        for line in lines.filter(|line| line.contains("resource=\"configmaps\"")) {
            let count = line.rsplit(' ').next().and_then(|text| text.parse().ok());
            let verb = line.split_once("verb=\"").map(|(_, rest)| rest);
            let verb = verb.and_then(|rest| rest.split('"').next());
            match verb {
                Some("GET") => requests.reads += count.unwrap_or(0.0),
                Some("POST" | "PUT" | "PATCH" | "APPLY" | "DELETE") => {
                    requests.writes += count.unwrap_or(0.0);
                }
                _ => {}
            }
        }
        requests
    }

    /// Those from here to there.
    pub(crate) fn until(&self, later: &Self) -> Self {
        Self {
            reads: later.reads - self.reads,
            writes: later.writes - self.writes,
        }
    }

    /// Reads and writes.
    pub(crate) fn all(&self) -> f64 {
        self.reads + self.writes
    }
}
