//! Subscribes an Operator to the watches of its sources and targets.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cluster::access::ReadRule;
use cluster::client::Identity;
use cluster::source::{Subscription, WatchKey};
use object::{GroupKind, KindRef, LabelSelector, ObjectKey, ObjectName, OperatorId, marks};
use operator::Operator;
use operator::spec::{ONE_SHOT, Source, SourceKind};
use target::in_place::{Own, entered};

use super::Context;
use super::kinds::{Kinds, any_version};
use super::problem_log::ProblemLog;
use super::views::view_of;
use super::writes::{TargetSink, Writes};
use crate::inbox::{Inbox, Input, Port, TakeBack};
use crate::view_source::{Gate, ViewSubscription, follow, operator_of};

/// The inputs of all controllers.
pub(super) fn ports(operator: &Operator) -> Vec<Port> {
    let controllers = operator.controllers.iter().enumerate();
    controllers
        .flat_map(|(number, controller)| {
            (0..controller.inputs.len()).map(move |input| (number, input))
        })
        .collect()
}

/// The watches that an Operator is subscribed to, until they are cleared.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    watches: Vec<Subscription>,
    /// The watches of kinds that are no longer targets.
    former: BTreeMap<GroupKind, Subscription>,
    /// The views of other Operators.
    views: Vec<ViewSubscription>,
}

impl Subscriptions {
    /// Ends the watch of a kind that is no longer a target.
    pub(super) fn leave(&mut self, kind: &GroupKind) {
        self.former.remove(kind);
    }

    /// Ends all subscriptions.
    pub(super) fn clear(&mut self) {
        self.watches.clear();
        self.former.clear();
        self.views.clear();
    }
}

/// Subscribes to the watches of all sources and all targets.
pub(super) fn subscribe(
    context: &Context,
    operator: &Operator,
    kinds: &Kinds,
    inbox: &Arc<Inbox>,
    writes: &Writes,
    problem_log: &Arc<ProblemLog>,
) -> Subscriptions {
    let mut subscriptions = Subscriptions::default();
    let identity = Identity::from(operator.service_account.as_ref());
    for (number, controller) in operator.controllers.iter().enumerate() {
        let inputs = controller.inputs.iter().zip(controller.keeps());
        for (input, (source, keep)) in inputs.enumerate() {
            let source = &controller.sources[*source];
            let port = (number, input);
            if source.kind == SourceKind::OneShot {
                let kept = keep.of(&source.one_shot());
                inbox.put(port, ObjectName::new("", ONE_SHOT), Some(kept), true);
                inbox.set(port, |state| state.listed = true);
                continue;
            }
            let view = view_of(source);
            if view
                .as_ref()
                .is_some_and(|view| operator_of(view) == operator.name)
            {
                // The task passes these on itself, see `own_views`.
                continue;
            }
            let own = controller.patches_input(input);
            let id = writes.writer.operator();
            let take_back = own.then(|| {
                let own = Own::new(operator, &controller.name);
                take_back(id, own, source)
            });
            let resource = &source.resource;
            let sink = Input::new(inbox.clone(), port, source.clone(), keep);
            let sink = sink
                .taking_back(take_back)
                .echoing(context.echoes.reader(&resource.group_kind()));
            if let Some(view) = view {
                let rule = rule_of(operator, source);
                let permission = rule.map(|rule| context.reviews.follow(rule));
                let gate = Gate::closed(&context.store, &view).permitted(permission);
                let causes = context.views.causes().clone();
                let is_bulk = move |version| causes.is_bulk(&view, version);
                let part = follow(&context.store, gate, Arc::new(sink), is_bulk);
                subscriptions.views.push(part);
                continue;
            }
            let key = WatchKey {
                resource: resource.clone(),
                namespace: source.namespace.clone().or(context.namespace.clone()),
                // A label that the controller itself has set does not count.
                selector: source
                    .selector
                    .as_ref()
                    .filter(|_| !own)
                    .and_then(LabelSelector::to_query),
                identity: identity.clone(),
            };
            let part = context.watches.subscribe(key, Arc::new(sink));
            subscriptions.watches.push(part);
        }
    }
    let mut known: HashSet<WatchKey> = HashSet::new();
    for target in operator.controllers.iter().flat_map(|c| &c.targets) {
        if target.resource.is_view() {
            continue;
        }
        let key = target_watch(context, &target.resource, kinds, &identity);
        if known.insert(key.clone()) {
            let patched = kinds.among_all(&target.resource.group_kind());
            let mut sink = TargetSink::new(&target.resource, patched, writes, problem_log.clone());
            if key.selector.is_some() {
                sink = sink.of(&operator.name);
            }
            subscriptions
                .watches
                .push(context.watches.subscribe(key, Arc::new(sink)));
        }
    }
    let targets = Kinds::of(operator);
    for kind in kinds.iter().filter(|kind| !targets.contains(kind)) {
        let resource = any_version(kind);
        let key = target_watch(context, &resource, kinds, &identity);
        let patched = kinds.among_all(kind);
        let mut sink = TargetSink::new(&resource, patched, writes, problem_log.clone());
        if key.selector.is_some() {
            sink = sink.of(&operator.name);
        }
        let part = context.watches.subscribe(key, Arc::new(sink.of_former()));
        subscriptions.former.insert(kind.clone(), part);
    }
    subscriptions
}

/// The permission that the account of an Operator needs to read another Operator's view; `None` if
/// it has no account.
fn rule_of(operator: &Operator, source: &Source) -> Option<ReadRule> {
    let account = operator.service_account.as_ref()?;
    Some(ReadRule {
        account_namespace: account.namespace.clone(),
        account: account.name.clone(),
        group: source.resource.group.clone(),
        resource: source.resource.view_resource(),
        namespace: source.namespace.clone(),
    })
}

/// Takes back what a controller has set on the objects of a source.
fn take_back(operator: &OperatorId, own: Own, source: &Source) -> TakeBack {
    let operator = operator.clone();
    let kind = source.resource.group_kind();
    Box::new(move |name, object| {
        let (kind, name) = (kind.clone(), name.clone());
        let key = ObjectKey { kind, name };
        entered(object, &operator, &key, |controller| own.has(controller))
    })
}

/// The watch of a target kind. All Operators of an identity share the watch of objects that have
/// our label; the sink of each gets its own. An Operator that patches, or has patched, objects
/// of others needs the watch of all objects.
fn target_watch(
    context: &Context,
    resource: &KindRef,
    kinds: &Kinds,
    identity: &Identity,
) -> WatchKey {
    let all = kinds.among_all(&resource.group_kind());
    WatchKey {
        resource: resource.clone(),
        namespace: context.namespace.clone(),
        selector: (!all).then(|| marks::OPERATOR.to_owned()),
        identity: identity.clone(),
    }
}
