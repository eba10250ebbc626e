// Reads the bodies that reached the upstream: every call of the last round with its result, in order.
"use strict";

const assert = require("node:assert/strict");
const { words } = require("./harness.js");

/** Chat Completions: the results follow their calls at once. */
function chatPairs(body) {
  const at = body.messages.findLastIndex((message) => message.tool_calls);
  const made = body.messages[at].tool_calls;
  const results = body.messages.slice(at + 1, at + 1 + made.length);
  assert.deepEqual(results.map((message) => message.tool_call_id), made.map((call) => call.id));
  return made.map((call, i) => [call.function.name, words(results[i].content)]);
}

/** Messages: the next message begins with the results. */
function messagePairs(body) {
  const isCall = (block) => block.type === "tool_use";
  const at = body.messages.findLastIndex((message) => Array.isArray(message.content) && message.content.some(isCall));
  const made = body.messages[at].content.filter(isCall);
  const results = body.messages[at + 1].content.slice(0, made.length);
  assert.deepEqual(results.map((block) => block.tool_use_id), made.map((block) => block.id));
  return made.map((call, i) => [call.name, words(results[i].content)]);
}

/** Responses with the whole history in the request. */
function responsePairs(body) {
  const made = body.input.filter((item) => item.type === "function_call");
  const results = body.input.filter((item) => item.type === "function_call_output");
  assert.deepEqual(results.map((item) => item.call_id), made.map((item) => item.call_id));
  return made.map((call, i) => [call.name, words(results[i].output)]);
}

module.exports = { chatPairs, messagePairs, responsePairs };
