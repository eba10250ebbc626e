// Responses through the official `openai` package: plain, streamed and `.stream()`, stored or not.
"use strict";

const assert = require("node:assert/strict");
const OpenAI = require("openai");
const { responsePairs } = require("./support/bodies.js");
const {
  FAILING, HIDDEN, MIXED, MODEL, OURS_FIRST, REFUSED, SCHEMA, assertWhole, clean, forecast, fresh, suite, words,
} = require("./support/harness.js");

const TOOL = { type: "function", name: "get_weather", description: "Weather", parameters: SCHEMA, strict: true };

function client({ gateway }, headers = {}) {
  const defaultHeaders = { "x-omni-use": "eval_code", ...headers };
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0, defaultHeaders });
}

/** The final response, and all that the application saw. */
const WAYS = {
  async plain(api, request) {
    const response = await api.responses.create(request);
    return { response, seen: response };
  },
  async stream(api, request) {
    const events = [];
    for await (const event of await api.responses.create({ ...request, stream: true })) {
      assert.equal(event.sequence_number, events.length);
      events.push(event);
    }
    const response = events.at(-1).response;
    const said = response.output.filter((item) => item.type === "message");
    const output_text = said.map((item) => words(item.content)).join("");
    return { response: { ...response, output_text }, seen: events };
  },
  async helper(api, request) {
    const stream = api.responses.stream(request);
    const events = [];
    for await (const event of stream) events.push(event);
    const response = await stream.finalResponse();
    return { response, seen: [events, response] };
  },
};

/** Results alone, with the names of their calls. */
function named(outputs, theirs) {
  const name = (output) => theirs.find((call) => call.call_id === output.call_id)?.name ?? "eval_code";
  return outputs.map((output) => [name(output), words(output.output)]);
}

suite("openai responses", (test) => {
  for (const [way, ask] of Object.entries(WAYS)) {
    test(`${way}: our skills run hidden`, async (world) => {
      await world.fake.script(...HIDDEN);
      const { response, seen } = await ask(client(world), { model: MODEL, input: fresh() });
      assert.equal(response.output_text, "Let me see. It is 42.");
      assert.equal(response.status, "completed");
      assert.deepEqual(response.output.map((item) => item.type), ["message", "message"]);
      const { input_tokens, output_tokens, total_tokens } = response.usage;
      assert.deepEqual([input_tokens, output_tokens, total_tokens], [250, 30, 280]);
      clean(seen);
      assert.equal((await world.fake.requests()).length, 2);
    });

    for (const store of [true, false]) {
      test(`${way}, store: ${store}: a mixed turn, whose other half the upstream gets back`, async (world) => {
        await world.fake.script({ ...MIXED[0], reasoning: "Both." }, MIXED[1]);
        const api = client(world);
        const base = { model: MODEL, tools: [TOOL], store };
        if (!store) base.include = ["reasoning.encrypted_content"];
        const user = { role: "user", content: fresh() };
        const first = await ask(api, { ...base, input: [user] });
        const made = first.response.output.filter((item) => item.type === "function_call");
        assert.deepEqual(made.map((item) => item.name), ["get_weather", "get_weather"]);
        assert.equal(first.response.status, "completed");
        clean(first.seen);
        const { call } = forecast();
        const results = made.map(({ call_id, arguments: given }) => ({
          type: "function_call_output",
          call_id,
          output: call(JSON.parse(given)),
        }));
        const next = store
          ? { previous_response_id: first.response.id, input: results }
          : { input: [user, ...first.response.output, ...results] };
        const second = await ask(api, { ...base, ...next });
        assert.equal(second.response.output_text, "Warm in both.");
        clean(second.seen);
        const body = (await world.fake.bodies()).at(-1);
        if (store) {
          assert.notEqual(body.previous_response_id, undefined);
          assert.ok(body.input.every((item) => item.type === "function_call_output"));
          assertWhole(named(body.input, made), OURS_FIRST);
        } else {
          assertWhole(responsePairs(body), OURS_FIRST);
        }
      });
    }

    test(`${way}: a refused request is the SDK's own error`, async (world) => {
      await assert.rejects(ask(client(world, REFUSED), { model: MODEL, input: "x" }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError, String(error));
        assert.equal(error.status, 400);
        assert.match(error.message, /x-omni-skills/);
        return true;
      });
    });

    test(`${way}: a failure after a skill ran is the SDK's own error`, async (world) => {
      await world.fake.script(...FAILING[way === "plain" ? "plain" : "streamed"]);
      await assert.rejects(ask(client(world), { model: MODEL, input: fresh() }), (error) => {
        assert.ok(error instanceof OpenAI.APIError, String(error));
        assert.match(error.message, way === "plain" ? /scripted/ : /upstream's stream broke off/);
        clean(error.message, error.error ?? null);
        return true;
      });
    });
  }
});
