//! The HTTP side of the fake: accepts, records, asks the provider's rules, answers. Holds the state.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::memory::Memory;
use super::provider::{Incoming, Other, Provider, Refusal, Reply, ReplyCall, at, word};
use super::{PROVIDERS, Recorded, body};
use crate::script::{Call, Fault, Round, Script};

/// Largest body that is read, in bytes.
const BODY_MAX: usize = 80 << 20;

/// Records, with a number for each that stays valid when the log is emptied.
#[derive(Debug, Default)]
struct Log {
    emptied: usize,
    list: Vec<Recorded>,
}

/// Everything that outlives a request.
#[derive(Debug)]
pub(crate) struct State {
    script: Mutex<Arc<Script>>,
    records: Mutex<Log>,
    memory: Mutex<Memory>,
    attempts: Mutex<HashMap<(usize, usize), usize>>,
    numbers: AtomicU64,
}

impl State {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script: Mutex::new(Arc::new(script)),
            records: Mutex::default(),
            memory: Mutex::default(),
            attempts: Mutex::default(),
            numbers: AtomicU64::new(1),
        }
    }

    pub(crate) fn records(&self) -> Vec<Recorded> {
        locked(&self.records).list.clone()
    }

    pub(crate) fn set_script(&self, script: Script) {
        *locked(&self.script) = Arc::new(script);
        locked(&self.attempts).clear();
        let mut records = locked(&self.records);
        records.emptied += records.list.len();
        records.list.clear();
    }

    /// Marks an answer as gone out whole.
    fn finish(&self, record: usize) {
        self.update(record, |record| record.finished = true);
    }

    fn update(&self, at: usize, change: impl FnOnce(&mut Recorded)) {
        let mut records = locked(&self.records);
        let index = at.checked_sub(records.emptied);
        if let Some(record) = index.and_then(|index| records.list.get_mut(index)) {
            change(record);
        }
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

/// One answer on its way; notices when it is dropped before its end.
#[derive(Debug)]
pub(crate) struct Watch {
    state: Arc<State>,
    record: usize,
}

impl Watch {
    /// The answer went out.
    pub(crate) fn finish(&self) {
        self.state.finish(self.record);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.state.update(self.record, |record| record.abandoned = !record.finished);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Accepts until it is aborted; its connections end with it.
pub(crate) async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = stream else { continue };
        drop(stream.set_nodelay(true));
        let state = Arc::clone(&state);
        let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
            let state = Arc::clone(&state);
            async move { handle(&state, request.map(Body::new)).await }
        });
        connections.spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
        );
    }
}

/// An `Err` closes the connection without an answer.
async fn handle(state: &Arc<State>, request: Request<Body>) -> io::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let raw = axum::body::to_bytes(body, BODY_MAX).await.map_err(io::Error::other)?;
    let path = parts.uri.path().to_owned();
    match (&parts.method, path.as_str()) {
        (&Method::GET, "/__requests") => return Ok(json_response(200, &requests(state))),
        (&Method::POST, "/__script") => {
            return Ok(match Script::from_json(&raw) {
                Ok(script) => {
                    state.set_script(script);
                    json_response(200, &json!({"ok": true}))
                }
                Err(error) => json_response(400, &json!({"error": error.to_string()})),
            });
        }
        _ => {}
    }
    let json = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let record = record(state, &parts, json.clone(), raw);
    if parts.method == Method::GET && path == "/v1/models" {
        state.update(record, |record| record.status = 200);
        return Ok(json_response(
            200,
            &json!({"object": "list", "data": [{"id": "fake-model", "object": "model"}]}),
        ));
    }
    if let Some(answer) = other(state, &parts) {
        let (status, body, refusal) = answer;
        state.update(record, |record| {
            (record.status, record.refusal, record.finished) = (status, refusal, true);
        });
        return Ok(json_response(status, &body));
    }
    let provider = PROVIDERS.iter().find(|provider| parts.method == Method::POST && provider.serves(&path));
    let Some(provider) = provider else {
        state.update(record, |record| record.status = 404);
        return Ok(json_response(
            404,
            &json!({"error": {"message": format!("no route {path}"), "type": "not_found"}}),
        ));
    };
    let json = provider.request(&path, parts.uri.query().unwrap_or_default(), json);
    answer(state, *provider, &parts.headers, &json, record).await
}

/// The answer on a path that asks no model: status, body, and why it was refused.
fn other(state: &State, parts: &http::request::Parts) -> Option<(u16, Value, Option<String>)> {
    let script = Arc::clone(&locked(&state.script));
    let ask = Other {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        script: &script,
    };
    let mut memory = locked(&state.memory);
    let mut answers = PROVIDERS.iter().copied().filter_map(|provider| {
        let answer = provider.other(&ask, &mut memory)?;
        Some((provider, answer))
    });
    let (provider, answer) = answers.next()?;
    Some(match answer {
        Ok(body) => (200, body, None),
        Err(refusal) => (refusal.status, provider.error(&refusal), Some(refusal.message)),
    })
}

fn record(state: &State, parts: &http::request::Parts, body: Value, raw: Bytes) -> usize {
    let mut records = locked(&state.records);
    records.list.push(Recorded {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        headers: parts.headers.clone(),
        body,
        raw,
        status: 0,
        refusal: None,
        finished: false,
        abandoned: false,
    });
    records.emptied + records.list.len() - 1
}

async fn answer(
    state: &Arc<State>,
    provider: &dyn Provider,
    headers: &HeaderMap,
    body: &Value,
    record: usize,
) -> io::Result<Response<Body>> {
    let script = Arc::clone(&locked(&state.script));
    let checked = {
        let memory = locked(&state.memory);
        provider.check(&Incoming { headers, body, memory: &memory, script: &script })
    };
    if let Err(refusal) = checked {
        state.update(record, |record| {
            record.status = refusal.status;
            record.refusal = Some(refusal.message.clone());
        });
        return Ok(json_response(refusal.status, &provider.error(&refusal)));
    }
    let whole = provider.whole(body, &locked(&state.memory));
    let user_text = provider.user_text(&whole);
    // Lives as long as the answer does: dropped early when the caller closes the connection.
    let watch = Watch { state: Arc::clone(state), record };
    let (round, place) = script.pick(body, &user_text, provider.round_index(&whole));
    tokio::time::sleep(Duration::from_millis(round.delay_ms)).await;
    let attempt = {
        let mut attempts = locked(&state.attempts);
        let count = attempts.entry(place).or_insert(0);
        *count += 1;
        *count - 1
    };
    let fault = round.first.get(attempt).or(round.fault.as_ref());
    let streamed = body["stream"] == true;
    match fault {
        Some(Fault::Drop) => {
            state.finish(record);
            return Err(io::Error::other("the script drops the connection"));
        }
        Some(Fault::Http { status, headers, body }) => {
            state.update(record, |record| (record.status, record.finished) = (*status, true));
            let body =
                body.clone().unwrap_or_else(|| provider.error(&Refusal::status(*status, "scripted failure")));
            let mut response = json_response(*status, &body);
            for (name, value) in headers {
                if let (Ok(name), Ok(value)) =
                    (http::HeaderName::try_from(name), http::HeaderValue::try_from(value))
                {
                    response.headers_mut().insert(name, value);
                }
            }
            return Ok(response);
        }
        Some(Fault::ErrorEvent { message, .. }) if !streamed => {
            state.update(record, |record| (record.status, record.finished) = (500, true));
            return Ok(json_response(500, &provider.error(&Refusal::status(500, message))));
        }
        _ => {}
    }
    let reply = reply(state, provider, &script, &round, [body, &whole]);
    provider.remember(&reply, &mut locked(&state.memory));
    let error_event = match fault {
        Some(Fault::ErrorEvent { message, .. }) => provider.error_event_in(message, body),
        _ => String::new(),
    };
    let events = if streamed { provider.events(&reply) } else { halves(&provider.plain(&reply).to_string()) };
    let mut sending = body::plan(events, fault, error_event, round.chunking);
    sending.pause = Duration::from_millis(round.delay_within_ms);
    state.update(record, |record| record.status = 200);
    let mut response = Response::new(body::body(sending, watch));
    let kind = if streamed { provider.stream_type(body) } else { "application/json" };
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    if let Ok(id) = http::HeaderValue::try_from(format!("req_{}", word(reply.number, 12))) {
        response.headers_mut().insert("request-id", id.clone());
        response.headers_mut().insert("x-request-id", id);
    }
    Ok(response)
}

/// A plain answer as two writes, so that faults "after one event" break it in the middle.
fn halves(text: &str) -> Vec<String> {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(middle);
    vec![first.to_owned(), second.to_owned()]
}

/// The answer to a body, which is also given with all that the provider remembers for it.
fn reply(
    state: &State,
    provider: &dyn Provider,
    script: &Script,
    round: &Round,
    [body, whole]: [&Value; 2],
) -> Reply {
    let offered = provider.callable(whole);
    let thinks = provider.thinks(body);
    let mut reply = Reply {
        number: state.number(),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        thinking: if thinks { round.thinking.clone() } else { Vec::new() },
        reasoning: round.reasoning.clone(),
        text: round.text.clone(),
        calls: Vec::new(),
        finish: round.finish.clone(),
        usage: round.usage,
        include_usage: *at(body, "/stream_options/include_usage") == true,
        asked: body.clone(),
    };
    if offered.is_empty() && round.calls.iter().any(|call| !call.exact) {
        let text = script.without_tools.clone().or(reply.text).unwrap_or_else(|| "no tools".to_owned());
        reply.text = Some(text);
        return reply;
    }
    reply.calls = round
        .calls
        .iter()
        .map(|call| ReplyCall {
            id: call.id.clone().unwrap_or_else(|| {
                let number = state.number();
                if script.mistral_ids { word(number, 9) } else { provider.call_id(number) }
            }),
            name: offered_name(call, &offered),
            arguments: call.raw.clone().unwrap_or_else(|| match &call.arguments {
                Value::Null => "{}".to_owned(),
                arguments => arguments.to_string(),
            }),
        })
        .collect();
    reply
}

/// The offered tool that the script means; the script's own word when there is none.
fn offered_name(call: &Call, offered: &[String]) -> String {
    if call.exact || offered.contains(&call.name) {
        return call.name.clone();
    }
    let versioned = format!("{}__", call.name);
    offered.iter().find(|name| name.starts_with(&versioned)).unwrap_or(&call.name).clone()
}

fn json_response(status: u16, body: &Value) -> Response<Body> {
    let text = body.as_str().map(str::to_owned);
    let kind = if text.is_some() { "text/plain; charset=utf-8" } else { "application/json" };
    let mut response = Response::new(Body::from(text.unwrap_or_else(|| body.to_string())));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

/// The records as JSON, for the program form.
fn requests(state: &State) -> Value {
    let one = |record: Recorded| {
        let headers: serde_json::Map<String, Value> = record
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), json!(String::from_utf8_lossy(value.as_bytes()))))
            .collect();
        json!({
            "method": record.method, "path": record.path, "headers": headers, "body": record.body,
            "raw": String::from_utf8_lossy(&record.raw), "status": record.status,
            "refusal": record.refusal, "finished": record.finished, "abandoned": record.abandoned,
        })
    };
    state.records().into_iter().map(one).collect()
}
