//! The processing of a request, from its path to its answer.

use document::Value;
use futures::StreamExt;
use futures::stream;
use http::{Method, Response};
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use object::ObjectKey;

use super::kind::Kind;
use super::policy::{AccessReview, VIEWS};
use super::refusal::Refusal;
use super::route::{RequestPath, Route};
use super::select::Selection;
use super::store::Stored;
use super::watch::Watch;
use super::write::Write;
use super::{Answer, ApiRequest, Caller, ProcessedWrite, Reply, Server, State, discovery};
use crate::faults::Fault;
use crate::fields::merge_patch;

impl State {
    /// Carries out a request, as far as the fault allows it.
    pub(super) fn exchange(
        &mut self,
        server: &Server,
        caller: &Caller,
        request: &ApiRequest,
        fault: Fault,
    ) -> Answer {
        let answer = match fault.refusal() {
            Some(refusal) => Err(refusal),
            None if fault.is_done() => return self.perform(server, caller, request, fault),
            None => Err(Refusal::new(0, "Lost", "")),
        };
        let code = answer.as_ref().err().map_or(0, |refusal| refusal.code);
        self.trace.request(caller, request, code, fault);
        self.respond(answer, fault.retry_after())
    }

    fn perform(
        &mut self,
        server: &Server,
        caller: &Caller,
        request: &ApiRequest,
        fault: Fault,
    ) -> Answer {
        let route = self.route_of(request);
        if let Ok(Route::Objects(place)) = &route
            && request.method == Method::GET
            && place.name.is_none()
            && request.is_watch()
        {
            let selection = Selection::of(place, &request.query);
            let watch = selection
                .and_then(|selection| Watch::open(server, self, caller, selection, &request.query));
            let code = watch.as_ref().map_or_else(|refusal| refusal.code, |_| 200);
            self.trace.request(caller, request, code, fault);
            return match watch {
                Ok(watch) => {
                    let lines = stream::unfold(watch, Watch::next).boxed();
                    Response::new(StreamBody::new(lines))
                }
                Err(refusal) => self.respond(Err(refusal), None),
            };
        }
        let reply = route.and_then(|route| self.route(caller, request, fault, &route));
        let code = reply.as_ref().map_or_else(|r| r.code, |(code, _)| *code);
        self.trace.request(caller, request, code, fault);
        self.respond(reply, None)
    }

    /// The kinds that discovery shows.
    fn served(&self) -> Vec<&'static Kind> {
        let kinds = self.kinds.iter().copied();
        let is_gone = |kind: &&'static Kind| {
            let refusal = self.refused.get(kind.name);
            refusal.is_some_and(|refusal| refusal.code == 404)
        };
        kinds.filter(|kind| !is_gone(kind)).collect()
    }

    fn route_of(&self, request: &ApiRequest) -> Result<Route, Refusal> {
        let route = Route::of(&request.path, &self.kinds).ok_or_else(Refusal::no_resource)?;
        let Route::Objects(place) = &route else {
            return Ok(route);
        };
        match self.refused.get(place.kind.name) {
            Some(refusal) => Err(refusal.clone()),
            None if !request.account.is_empty() && self.denied.contains(place.kind.name) => {
                Err(Refusal::forbidden())
            }
            None => Ok(route),
        }
    }

    fn route(
        &mut self,
        caller: &Caller,
        request: &ApiRequest,
        fault: Fault,
        route: &Route,
    ) -> Reply {
        let place = match route {
            Route::CoreVersions => return Ok((200, discovery::core_versions())),
            Route::Groups => return Ok((200, discovery::groups(&self.served()))),
            Route::Schemas => return Ok((200, discovery::schemas(&self.served()))),
            Route::Schema => return Ok((200, discovery::schema())),
            Route::Resources { group, version } => {
                return Ok((200, discovery::resources(&self.served(), group, version)));
            }
            Route::AccessReviews => {
                let allowed = (self.access)(&AccessReview::of(&request.body));
                let allowed = allowed && !self.denied.contains(VIEWS);
                return Ok((201, AccessReview::answered(&request.body, allowed)));
            }
            Route::Objects(place) => place,
        };
        match (&place.name, request.is_write()) {
            (None, false) => {
                let selection = Selection::of(place, &request.query)?;
                self.pages.list(&self.store, &selection, &request.query)
            }
            (Some(name), false) => {
                let stored = self.store.get(&place.key(name));
                let stored = stored.ok_or_else(|| Refusal::not_found(place.kind.plural, name));
                stored.map(|stored| (200, stored.shown()))
            }
            (name, true) => {
                let given = request.body.get("metadata").get("name").as_str();
                let name = name.as_deref().or(given).unwrap_or_default();
                let key = place.key(name);
                self.race(&key);
                let old = self.object(&key);
                let shown = self.store.get(&key).map(Stored::shown);
                let reply = self.write(request, place, &key);
                self.inspect(&ProcessedWrite {
                    caller,
                    request,
                    key: &key,
                    old,
                    new: self.object(&key),
                    code: reply.as_ref().map_or_else(|r| r.code, |(code, _)| *code),
                    fault,
                });
                match (reply, shown) {
                    (Ok(_), Some(shown)) if fault == Fault::OldAnswer => Ok((200, shown)),
                    (reply, _) => reply,
                }
            }
        }
    }

    /// Whether a list, or a watch that begins with one, gets no answer for now.
    pub(super) fn is_unanswered(&self, request: &ApiRequest) -> bool {
        let lists = !request.is_watch() || request.query.is("sendInitialEvents");
        match Route::of(&request.path, &self.kinds) {
            Some(Route::Objects(place)) => {
                let list = request.method == Method::GET && lists && place.name.is_none();
                list && self.unanswered.contains(place.kind.name)
            }
            _ => false,
        }
    }

    /// Lets somebody else write the object first.
    fn race(&mut self, key: &ObjectKey) {
        let next = self.races.iter().position(|(raced, _)| raced == key);
        let Some((_, patch)) = next.map(|at| self.races.remove(at)) else {
            return;
        };
        self.change(key, "racer", |object| merge_patch(object, &patch));
    }

    fn object(&self, key: &ObjectKey) -> Option<Value> {
        let stored = self.store.get(key);
        stored.map(|stored| stored.object.clone())
    }

    fn write(&mut self, request: &ApiRequest, place: &RequestPath, key: &ObjectKey) -> Reply {
        let write = Write {
            store: &mut self.store,
            policies: &self.policies,
            webhook: &self.webhook,
            place,
            key: key.clone(),
            request,
        };
        write.run()
    }

    fn inspect(&mut self, done: &ProcessedWrite<'_>) {
        if let Some(Err(violation)) = self.guard.as_mut().map(|guard| guard(done)) {
            self.violate(violation);
        }
    }

    fn respond(&self, reply: Reply, retry_after: Option<u64>) -> Answer {
        let (code, body) =
            reply.unwrap_or_else(|refusal| (refusal.code.max(400), refusal.status()));
        let frame = Ok(Frame::data(Bytes::from(self.sent(&body))));
        let mut response = Response::new(StreamBody::new(stream::iter([frame]).boxed()));
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
        if let Some(seconds) = retry_after {
            let headers = response.headers_mut();
            headers.insert(http::header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
