// The `ai` package with its OpenAI provider: `generateText` and `streamText` over Chat Completions and Responses,
// whose tool loop and later questions are the package's own.
"use strict";

const assert = require("node:assert/strict");
const { createOpenAI } = require("@ai-sdk/openai");
const { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } = require("ai");
const { chatPairs, responsePairs } = require("./support/bodies.js");
const { FAILING, HIDDEN, MIXED, MODEL, OURS_FIRST, REFUSED, SCHEMA, assertWhole, clean, forecast, fresh, suite } =
  require("./support/harness.js");

globalThis.AI_SDK_LOG_WARNINGS = false;

const STORE = (store) => ({ openai: { store } });
const FORMATS = {
  chat: { kind: "chat" },
  "responses, stored": { kind: "responses", providerOptions: STORE(true) },
  "responses, not stored": { kind: "responses", providerOptions: STORE(false) },
};

function model({ gateway }, kind, headers = {}) {
  const provider = createOpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: gateway.key,
    headers: { "x-omni-use": "eval_code", ...headers },
  });
  return provider[kind](MODEL);
}

/** What the application has in the end, and all that it saw. */
const WAYS = {
  async generateText(request) {
    const result = await generateText({ maxRetries: 0, ...request });
    const { text, finishReason, totalUsage, response, steps } = result;
    const seen = steps.map((step) => [step.content, step.response]);
    return { text, finishReason, totalUsage, messages: response.messages, seen };
  },
  async streamText(request) {
    let failure;
    const result = streamText({ maxRetries: 0, ...request, onError: ({ error }) => (failure = error) });
    const parts = [];
    for await (const part of result.fullStream) parts.push(part);
    if (failure) throw failure;
    const messages = (await result.response).messages;
    const [text, finishReason, totalUsage] = await Promise.all([result.text, result.finishReason, result.totalUsage]);
    return { text, finishReason, totalUsage, messages, seen: parts };
  },
};

/** Names and results in a body. */
const pairs = { chat: chatPairs, responses: responsePairs };

suite("ai sdk", (test) => {
  for (const [way, ask] of Object.entries(WAYS)) {
    for (const [format, { kind, providerOptions }] of Object.entries(FORMATS)) {
      const base = (world, headers) => ({ model: model(world, kind, headers), providerOptions });

      test(`${way}, ${format}: our skills run hidden, and a later question knows what they returned`, async (world) => {
        await world.fake.script(...HIDDEN);
        const messages = [{ role: "user", content: fresh() }];
        const answer = await ask({ ...base(world), messages });
        assert.equal(answer.text.replace(/\s+/g, " "), "Let me see. It is 42.");
        assert.equal(answer.finishReason, "stop");
        const { inputTokens, outputTokens, totalTokens } = answer.totalUsage;
        assert.deepEqual([inputTokens, outputTokens, totalTokens], [250, 30, 280]);
        clean(answer.seen, answer.messages);
        assert.equal((await world.fake.requests()).length, 2);

        await world.fake.script({ text: "Because of the code." });
        messages.push(...answer.messages, { role: "user", content: "why?" });
        assert.equal((await ask({ ...base(world), messages })).text, "Because of the code.");
        const history = JSON.stringify((await world.fake.bodies())[0]);
        assert.ok(history.includes("r-1") && history.includes("r-3"), history);
      });

      test(`${way}, ${format}: in a mixed turn the client's tools run here, ours there`, async (world) => {
        const reasoning = kind === "chat" ? undefined : "Both.";
        await world.fake.script({ ...MIXED[0], reasoning }, MIXED[1]);
        const { asked, call } = forecast();
        const get_weather = tool({ description: "Weather", inputSchema: jsonSchema(SCHEMA), execute: call });
        const prompt = fresh();
        const answer = await ask({ ...base(world), prompt, tools: { get_weather }, stopWhen: stepCountIs(3) });
        assert.equal(answer.text, "Warm in both.");
        assert.deepEqual(asked, ["Łódź", "Qom"]);
        clean(answer.seen, answer.messages);
        const bodies = await world.fake.bodies();
        assert.equal(bodies.length, 2);
        assertWhole(pairs[kind](bodies[1]), kind === "chat" ? undefined : OURS_FIRST);
      });

      test(`${way}, ${format}: a refused request is the SDK's own error`, async (world) => {
        await assert.rejects(ask({ ...base(world, REFUSED), prompt: fresh() }), (error) => {
          assert.ok(APICallError.isInstance(error), String(error));
          assert.equal(error.statusCode, 400);
          assert.match(error.message, /x-omni-skills/);
          return true;
        });
      });

      test(`${way}, ${format}: a failure after a skill ran is an error, never an answer`, async (world) => {
        await world.fake.script(...FAILING[way === "streamText" ? "streamed" : "plain"]);
        await assert.rejects(ask({ ...base(world), prompt: fresh() }), (error) => {
          // The package hands an error event on as the provider sent it.
          if (way === "streamText") assert.equal(error.code, "upstream_broken");
          else assert.ok(APICallError.isInstance(error) && error.statusCode === 500, String(error));
          clean(error, error.message);
          return true;
        });
      });
    }
  }
});
