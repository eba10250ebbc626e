//! What one route takes and gives, as its author says it.

use axum::http::StatusCode;
use serde_json::Value;

use super::schema::{Schema, text, whole};
use crate::error::Code;
use domain::limits::{PAGE_DEFAULT, PAGE_MAX};

/// A group of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Skills,
    Executions,
    Keys,
    Tokens,
    Sets,
    Turns,
    Workspace,
    Settings,
    Operations,
    Proxy,
}

impl Tag {
    /// All, in the order of the document.
    pub(crate) const ALL: [Self; 10] = [
        Self::Skills,
        Self::Executions,
        Self::Turns,
        Self::Workspace,
        Self::Sets,
        Self::Keys,
        Self::Tokens,
        Self::Settings,
        Self::Operations,
        Self::Proxy,
    ];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Skills => "Skills",
            Self::Executions => "Executions",
            Self::Keys => "API keys",
            Self::Tokens => "Management tokens",
            Self::Sets => "Sets",
            Self::Turns => "Turns and usage",
            Self::Workspace => "Workspace and artifacts",
            Self::Settings => "Settings",
            Self::Operations => "Operations",
            Self::Proxy => "LLM proxy",
        }
    }

    /// What is in it.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Skills => "The registry: what there is, what is offered, what may run.",
            Self::Executions => "Runs of skills: start, watch, decide, look back.",
            Self::Keys => "Who may come in, and how much each may do.",
            Self::Tokens => "Named credentials for management.",
            Self::Sets => "Named groups of skills.",
            Self::Turns => "What chats did: candidates, rounds, tokens.",
            Self::Workspace => "Files of the caller, and files that runs left.",
            Self::Settings => "What holds at once and is kept in the database.",
            Self::Operations => "For whoever watches the gateway.",
            Self::Proxy => "Chat through the gateway, in each provider's own format.",
        }
    }
}

/// What the route list asks for beside a handler.
#[derive(Clone, Debug)]
pub(crate) enum Doc {
    /// In the document.
    Operation(Box<Operation>),
    /// Not in the document: it is described elsewhere.
    Outside,
}

impl From<Operation> for Doc {
    fn from(operation: Operation) -> Self {
        Self::Operation(Box::new(operation))
    }
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
}

impl Place {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) place: Place,
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) schema: Schema,
}

/// What a request brings.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) media: &'static str,
    pub(super) required: bool,
    pub(super) schema: Schema,
    pub(super) example: Option<Value>,
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) media: &'static str,
    pub(super) schema: Schema,
}

/// How a value of the answer is used by another operation.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) operation: &'static str,
    pub(super) parameters: &'static [(&'static str, &'static str)],
}

/// One operation. Errors that any operation has are not named here, see [`super::document`].
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(super) tag: Tag,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) about: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answer>,
    pub(super) errors: Vec<Code>,
    pub(super) links: Vec<Link>,
    /// Whether a person is asked to log in with a page.
    pub(super) page: bool,
}

impl Operation {
    /// `id` is a verb and a noun, unique in the document; `summary` one sentence without a full stop.
    pub(crate) fn new(tag: Tag, id: &'static str, summary: &'static str) -> Self {
        Self {
            tag,
            id,
            summary,
            about: "",
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            errors: Vec::new(),
            links: Vec::new(),
            page: false,
        }
    }

    /// What else one should know, in Markdown.
    pub(crate) fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    fn parameter(mut self, place: Place, name: &'static str, required: bool, schema: Schema) -> Self {
        self.parameters.push(Parameter { place, name, required, schema });
        self
    }

    /// A parameter of the path. Those that are not described are strings.
    pub(crate) fn path(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(Place::Path, name, true, schema)
    }

    /// A parameter of the query that may be absent.
    pub(crate) fn query(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(Place::Query, name, false, schema)
    }

    /// A parameter of the query that has to be there.
    pub(crate) fn needs_query(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(Place::Query, name, true, schema)
    }

    /// A header that may be absent.
    pub(crate) fn header(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(Place::Header, name, false, schema)
    }

    /// `page` and `limit`, as [`crate::api::page`] reads them.
    pub(crate) fn paged(self) -> Self {
        self.query("page", whole(1..=u64::from(u32::MAX)).default(1))
            .query("limit", whole(1..=u64::from(PAGE_MAX)).default(PAGE_DEFAULT).about("Rows on one page."))
    }

    /// `apiKeyId`, which management alone may set to somebody else.
    pub(crate) fn owned(self) -> Self {
        self.query("apiKeyId", text().about("Somebody else's; for management alone."))
            .errors(&[Code::ForeignOwner])
    }

    /// A JSON body.
    pub(crate) fn body(self, schema: Schema) -> Self {
        let body = Body { media: "application/json", required: true, schema, example: None };
        Self { body: Some(body), ..self }
    }

    /// A JSON body that may be absent.
    pub(crate) fn maybe_body(self, schema: Schema) -> Self {
        let body = Body { media: "application/json", required: false, schema, example: None };
        Self { body: Some(body), ..self }
    }

    /// What the body may look like; it has to work as it stands.
    pub(crate) fn example(mut self, example: Value) -> Self {
        if let Some(body) = &mut self.body {
            body.example = Some(example);
        }
        self
    }

    /// 200 with JSON.
    pub(crate) fn gives(self, schema: Schema) -> Self {
        self.gives_as(StatusCode::OK, "application/json", schema)
    }

    /// Another status or type.
    pub(crate) fn gives_as(mut self, status: StatusCode, media: &'static str, schema: Schema) -> Self {
        self.answers.push(Answer { status, media, schema });
        self
    }

    /// Errors of its own.
    pub(crate) fn errors(mut self, codes: &[Code]) -> Self {
        self.errors.extend_from_slice(codes);
        self
    }

    /// A browser gets its 401 as a page.
    pub(crate) fn asks_with_a_page(self) -> Self {
        Self { page: true, ..self }
    }

    /// A value of the answer is what another operation is called with: its id, and its parameters with runtime
    /// expressions such as `$response.body#/id`.
    pub(crate) fn link(
        mut self,
        operation: &'static str,
        parameters: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.links.push(Link { operation, parameters });
        self
    }
}
