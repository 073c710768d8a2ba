//! What a screen asks of nodes: calls of services, and parameters, which are behind services, too.
//!
//! Nothing here waits. A question becomes calls; what comes of them is an [`Answer`] for the screen.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use situ_bus::inspect;
use situ_bus::{Encoding, RawSubscriber, Root, SubscriberQos, TakeError, TypeDescription};
use situ_schema::Schema;
use situ_schema::dynamic::{Value, from_cdr, from_flat, from_region};

use crate::caller::{Caller, Outcome, Place};
use crate::channels::CDR;
use crate::inbound::JSON;
use crate::parameters::{self, EVENTS, GET, LIST, ParameterError, SET};
use crate::protocol::{Parameter, ServiceCall, response};
use crate::services::Service;

/// How many questions for parameters a screen has open at once.
const MAX_TASKS: usize = 32;
/// How many names of parameters a screen may follow.
const MAX_FOLLOWED: usize = 10_000;
/// How many parameters an answer has.
const MAX_PARAMETERS: usize = 100_000;
/// How many answers wait before refusals are left out: one message may ask for much that is refused.
const MAX_ANSWERS: usize = 128;
/// How often the topic with changes of parameters is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// What a screen is told.
#[derive(Debug)]
pub enum Answer {
    /// The bytes of a reply to a call.
    Reply(Vec<u8>),
    /// A call has no reply.
    Failure {
        /// The service.
        service: u32,
        /// The number of the call.
        call: u32,
        /// Why.
        reason: String,
    },
    /// Parameters.
    Values {
        /// The parameters.
        parameters: Vec<Parameter>,
        /// What the screen gave with its question.
        id: Option<String>,
    },
    /// Something that was not done.
    Refusal(String),
}

/// What a call is for.
enum Purpose {
    /// A screen's call.
    Screen { service: u32, call: u32, encoding: &'static str },
    /// A step of a question for parameters.
    Step { task: u64, node: String, step: Step },
}

enum Step {
    /// Asks a node for its names.
    List,
    /// Asks a node for the values of these.
    Get(Vec<String>),
    /// Sets these.
    Set(Vec<String>),
}

/// A question for parameters.
struct Task {
    id: Option<String>,
    /// Whether the screen wants to know the values.
    is_answered: bool,
    /// How many calls are under way.
    pending: usize,
    parameters: Vec<Parameter>,
}

/// The topic with the changes of parameters.
struct Events {
    subscriber: RawSubscriber,
    schema: Schema,
    root: situ_schema::model::TypeId,
}

/// Which parameters a screen follows.
#[derive(Default)]
struct Followed {
    all: bool,
    names: HashSet<String>,
    events: Option<Events>,
    looked: Option<Instant>,
}

/// What a screen has asked.
#[derive(Default)]
pub struct Requests {
    caller: Caller<Purpose>,
    tasks: HashMap<u64, Task>,
    next: u64,
    followed: Followed,
    answers: VecDeque<Answer>,
}

/// The services with parameters of all nodes, by the ends of their names, and by nodes.
struct Nodes(BTreeMap<(&'static str, String), Arc<Service>>);

impl Nodes {
    /// Those that have a server now.
    fn find(root: &Root) -> Result<Self, String> {
        let services = inspect::services(root).map_err(|error| error.to_string())?;
        let mut found = BTreeMap::new();
        for info in services {
            for (end, type_name) in [LIST, GET, SET] {
                let Some(node) = info.name.strip_suffix(end).filter(|node| !node.is_empty()) else {
                    continue;
                };
                if !info.requests.subscribers.iter().any(|server| server.alive) {
                    continue;
                }
                // The number is for services that a screen calls itself.
                if let Ok(service) = Service::of(0, &info)
                    && service.type_name == type_name
                {
                    let node = format!("/{}", node.trim_start_matches('/'));
                    found.insert((end, node), Arc::new(service));
                }
            }
        }
        Ok(Self(found))
    }

    fn of(&self, (end, _): (&'static str, &str), node: &str) -> Result<Arc<Service>, String> {
        let found = self.0.get(&(end, node.to_owned()));
        found.cloned().ok_or_else(|| format!("the node {node:?} is not there, or has no parameters"))
    }

    fn with(&self, (end, _): (&'static str, &str)) -> Vec<String> {
        self.0.keys().filter(|(it, _)| *it == end).map(|(_, node)| node.clone()).collect()
    }
}

impl Requests {
    /// Calls a service for a screen.
    pub fn call(&mut self, place: Place, service: Result<Arc<Service>, String>, call: ServiceCall) {
        let encoding = if call.encoding == JSON { JSON } else { CDR };
        let request = service.and_then(|service| {
            let request = service.request(call.encoding, call.content);
            let request = request.map_err(|error| format!("the request is not sent: {error}"))?;
            Ok((service, request))
        });
        let (number, call) = (call.service, call.call);
        match request {
            Ok((service, request)) => {
                let purpose = Purpose::Screen { service: number, call, encoding };
                self.caller.call(place, service, request, purpose);
            }
            Err(reason) => self.answers.push_back(Answer::Failure { service: number, call, reason }),
        }
    }

    /// Asks nodes for parameters.
    pub fn get(&mut self, place: Place, root: &Root, names: &[String], id: Option<String>) {
        let (Some(nodes), Some(task)) = (self.nodes(root), self.begin(id, true)) else { return };
        if names.is_empty() {
            for node in nodes.with(LIST) {
                self.step(place, &nodes, task, &node, Step::List, &parameters::list_request());
            }
        } else {
            for (node, names) in self.by_node(names.iter().map(|name| (name, ()))) {
                let names = names.into_iter().map(|(name, ())| name).collect();
                self.get_of(place, &nodes, task, &node, names);
            }
        }
        self.end_if_done(task);
    }

    /// Sets parameters of nodes that `may` be changed.
    pub fn set(
        &mut self,
        place: Place,
        root: &Root,
        parameters: Vec<Parameter>,
        id: Option<String>,
        may: impl Fn(&str) -> bool,
    ) {
        let is_answered = id.is_some();
        let (Some(nodes), Some(task)) = (self.nodes(root), self.begin(id, is_answered)) else { return };
        let named = parameters.iter().map(|parameter| (&parameter.name, parameter.clone()));
        for (node, parameters) in self.by_node(named) {
            if !may(&node) {
                let text =
                    format!("parameters of {node:?} may not be set; see `situ foxglove --set-parameters`");
                self.refuse(text);
                continue;
            }
            match parameters::set_request(&parameters) {
                Ok(request) => {
                    let names = parameters.into_iter().map(|(name, _)| name).collect();
                    self.step(place, &nodes, task, &node, Step::Set(names), &request);
                }
                Err(error) => self.refuse(error.to_string()),
            }
        }
        self.end_if_done(task);
    }

    /// Follows the changes of parameters; without names, of all.
    pub fn follow(&mut self, names: Vec<String>) {
        let followed = &mut self.followed;
        followed.all |= names.is_empty();
        if followed.names.len() + names.len() > MAX_FOLLOWED {
            let text = format!("a client follows at most {MAX_FOLLOWED} parameters, or all");
            return self.refuse(text);
        }
        followed.names.extend(names);
    }

    /// Follows these no longer; without names, none.
    pub fn unfollow(&mut self, names: &[String]) {
        let followed = &mut self.followed;
        followed.names.retain(|name| !names.contains(name));
        if names.is_empty() {
            *followed = Followed::default();
        }
    }

    /// The next answer for the screen.
    pub fn take(&mut self, place: Place, root: &Root) -> Option<Answer> {
        while self.answers.is_empty()
            && let Some((purpose, outcome)) = self.caller.take(place)
        {
            self.hear(place, root, purpose, outcome);
        }
        if self.answers.is_empty() {
            self.take_events(place, root);
        }
        self.answers.pop_front()
    }

    fn refuse(&mut self, text: String) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back(Answer::Refusal(text));
        }
    }

    fn nodes(&mut self, root: &Root) -> Option<Nodes> {
        match Nodes::find(root) {
            Ok(nodes) => Some(nodes),
            Err(error) => {
                self.refuse(error);
                None
            }
        }
    }

    fn begin(&mut self, id: Option<String>, is_answered: bool) -> Option<u64> {
        if self.tasks.len() >= MAX_TASKS {
            let text = format!("{MAX_TASKS} questions for parameters are open already");
            self.refuse(text);
            return None;
        }
        self.next += 1;
        self.tasks.insert(self.next, Task { id, is_answered, pending: 0, parameters: Vec::new() });
        Some(self.next)
    }

    /// What is asked of each node, with the parameters' own names.
    fn by_node<'n, T>(
        &mut self,
        named: impl Iterator<Item = (&'n String, T)>,
    ) -> BTreeMap<String, Vec<(String, T)>> {
        let mut nodes = BTreeMap::<String, Vec<(String, T)>>::new();
        let mut wrong: Option<ParameterError> = None;
        for (name, it) in named {
            match parameters::split(name) {
                Ok((node, own)) => nodes.entry(node.to_owned()).or_default().push((own.to_owned(), it)),
                Err(error) => wrong = wrong.or(Some(error)),
            }
        }
        wrong.into_iter().for_each(|error| self.refuse(error.to_string()));
        nodes
    }

    fn get_of(&mut self, place: Place, nodes: &Nodes, task: u64, node: &str, names: Vec<String>) {
        let request = parameters::get_request(&names);
        self.step(place, nodes, task, node, Step::Get(names), &request);
    }

    /// Calls a service of a node, as a step of a task.
    fn step(&mut self, place: Place, nodes: &Nodes, task: u64, node: &str, step: Step, request: &Json) {
        let end = match step {
            Step::List => LIST,
            Step::Get(_) => GET,
            Step::Set(_) => SET,
        };
        let request = nodes.of(end, node).and_then(|service| {
            let request = service.request(JSON, request.to_string().as_bytes());
            Ok((service, request.map_err(|error| format!("the node {node:?} is not asked: {error}"))?))
        });
        match request {
            Ok((service, request)) => {
                if let Some(task) = self.tasks.get_mut(&task) {
                    task.pending += 1;
                }
                let purpose = Purpose::Step { task, node: node.to_owned(), step };
                self.caller.call(place, service, request, purpose);
            }
            Err(reason) => self.refuse(reason),
        }
    }

    fn hear(&mut self, place: Place, root: &Root, purpose: Purpose, outcome: Outcome) {
        match purpose {
            Purpose::Screen { service, call, encoding } => {
                let reply = outcome.map_err(|error| error.to_string()).and_then(|(it, value)| {
                    it.encode_reply(encoding, &value)
                        .map_err(|error| format!("the reply is not shown: {error}"))
                });
                self.answers.push_back(match reply {
                    Ok(content) => Answer::Reply(response(service, call, encoding, &content)),
                    Err(reason) => Answer::Failure { service, call, reason },
                });
            }
            Purpose::Step { task, node, step } => {
                if let Some(it) = self.tasks.get_mut(&task) {
                    it.pending -= 1;
                }
                match outcome {
                    Ok((_, value)) => self.done(place, root, task, &node, step, &value),
                    Err(error) => {
                        let text = format!("parameters of {node:?}: {error}");
                        self.refuse(text);
                    }
                }
                self.end_if_done(task);
            }
        }
    }

    /// Goes on with a task.
    fn done(&mut self, place: Place, root: &Root, task: u64, node: &str, step: Step, reply: &Value) {
        let unknown = format!("the node {node:?} does not answer as nodes of ROS do");
        let Some(it) = self.tasks.get_mut(&task) else { return };
        match step {
            Step::List => match parameters::listed(reply) {
                Some(names) if names.is_empty() => {}
                Some(names) => {
                    let Some(nodes) = self.nodes(root) else { return };
                    self.get_of(place, &nodes, task, node, names);
                }
                None => self.refuse(unknown),
            },
            Step::Get(names) => match parameters::got(node, &names, reply) {
                Some(values) => {
                    let room = MAX_PARAMETERS.saturating_sub(it.parameters.len());
                    it.parameters.extend(values.into_iter().take(room));
                }
                None => {
                    let text = format!("the node {node:?} gives no values of {}", short(&names));
                    self.refuse(text);
                }
            },
            Step::Set(names) => {
                let is_answered = it.is_answered;
                match parameters::refused(node, &names, reply) {
                    Some(refused) => refused.into_iter().for_each(|text| self.refuse(text)),
                    None => self.refuse(unknown),
                }
                if is_answered && let Some(nodes) = self.nodes(root) {
                    self.get_of(place, &nodes, task, node, names);
                }
            }
        }
    }

    fn end_if_done(&mut self, task: u64) {
        if self.tasks.get(&task).is_some_and(|it| it.pending == 0)
            && let Some(Task { id, is_answered: true, parameters, .. }) = self.tasks.remove(&task)
        {
            self.answers.push_back(Answer::Values { parameters, id });
        }
    }

    /// Tells of changes that the screen follows.
    fn take_events(&mut self, place: Place, root: &Root) {
        let followed = &mut self.followed;
        if !followed.all && followed.names.is_empty() {
            followed.events = None;
            return;
        }
        if followed.events.is_none() {
            let is_early = followed.looked.is_some_and(|looked| looked.elapsed() < LOOK);
            if is_early {
                return;
            }
            followed.looked = Some(Instant::now());
            match Events::join(place, root) {
                Ok(events) => followed.events = events,
                Err(error) => return self.refuse(error),
            }
        }
        let Some(events) = &followed.events else { return };
        match events.take() {
            Ok(Some(changed)) => {
                let wanted = |it: &Parameter| followed.all || followed.names.contains(&it.name);
                let parameters: Vec<_> = changed.into_iter().filter(wanted).collect();
                if !parameters.is_empty() {
                    self.answers.push_back(Answer::Values { parameters, id: None });
                }
            }
            Ok(None) => {}
            Err(()) => followed.events = None,
        }
    }
}

impl Events {
    /// Joins the topic, if it is there.
    fn join(place: Place, root: &Root) -> Result<Option<Self>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("changes of parameters are not told: {error}");
        let Some(info) = inspect::topic(root, EVENTS.0).map_err(|error| failed(&error))? else {
            return Ok(None);
        };
        if info.description.name != EVENTS.1 {
            return Ok(None);
        }
        let schema = Schema::from_idl(&info.description.schema).map_err(|error| failed(&error))?;
        let Some(root) = schema.find(EVENTS.1) else { return Ok(None) };
        let any = TypeDescription { encoding: Encoding::Region, layout_hash: 0, ..info.description };
        let subscriber = RawSubscriber::create(place.node, EVENTS.0, &any, SubscriberQos::default());
        let subscriber = subscriber.map_err(|error| failed(&error))?;
        place.set.attach(&subscriber).map_err(|error| failed(&error))?;
        Ok(Some(Self { subscriber, schema, root }))
    }

    /// The next change. Malformed ones are passed. An error if the topic is gone.
    fn take(&self) -> Result<Option<Vec<Parameter>>, ()> {
        loop {
            let sample = match self.subscriber.take() {
                Ok(Some(sample)) => sample,
                Ok(None) => return Ok(None),
                Err(TakeError::Removed { .. }) => return Err(()),
                Err(_) => continue,
            };
            let read = || {
                let body = sample.body().try_to_vec().ok()?;
                let value = match sample.encoding() {
                    Encoding::Flat => {
                        from_flat(&self.schema, self.root, &sample.head().try_to_vec().ok()?, &body).ok()?
                    }
                    Encoding::Region => from_region(&self.schema, self.root, &body).ok()?,
                    _ => from_cdr(&self.schema, self.root, &body).ok()?,
                };
                parameters::changed(&value)
            };
            if let Some(changed) = read() {
                return Ok(Some(changed));
            }
        }
    }
}

/// The first names, for a text.
fn short(names: &[String]) -> String {
    let first: Vec<_> = names.iter().take(5).map(String::as_str).collect();
    let more = if names.len() > 5 { ", ..." } else { "" };
    format!("{}{more}", first.join(", "))
}
