//! A panic in one request is a 500 of that request, in the right shape and without details.

use std::any::Any;

use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

/// For `tower_http::catch_panic`.
#[expect(clippy::needless_pass_by_value, reason = "the signature that tower-http asks for")]
pub(crate) fn answer(payload: Box<dyn Any + Send + 'static>) -> Response {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    ApiError::internal(format!("panic: {text}")).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::extract::Request;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use http_body_util::BodyExt as _;
    use serde_json::Value;
    use tower::ServiceExt as _;
    use tower_http::catch_panic::CatchPanicLayer;

    use crate::error::render::render;

    async fn broken() -> &'static str {
        panic!("the secret is 42")
    }

    #[tokio::test]
    async fn a_panic_is_a_500_without_details() {
        let router = axum::Router::new()
            .route("/api/x", get(broken))
            .layer(CatchPanicLayer::custom(super::answer))
            .layer(from_fn(render));
        let request = Request::builder().uri("/api/x").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 500);
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body["code"], "internal");
        assert!(!body.to_string().contains("42"), "{body}");
    }
}
