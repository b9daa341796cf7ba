/**
 * Stands in, in bundles, for packages that AWS clients import at start and that nothing here ever reaches.
 * `@aws-sdk/endpoint-cache` is for endpoint discovery, which is off: a table is reached at its region's endpoint.
 * `@smithy/core/checksum` and `@smithy/signature-v4` sign requests, which `functions/core/aws-signature.ts` does.
 * `@smithy/node-http-handler` sends requests, which the handlers of `functions/core/aws-client.ts` do: all clients have one.
 * `@aws/lambda-invoke-store` tells apart the requests that one environment handles at the same time; it has one.
 * `@smithy/core/event-streams` is for operations that stream events, such as SelectObjectContent: none is used.
 */
export class EndpointCache {}

export const InvokeStore = { getInstanceAsync: async (): Promise<undefined> => undefined };

export class Sha256 {}

export class SignatureV4 {}

export const NodeHttpHandler = { create: <T>(handler: T): T => handler };

export const streamCollector = undefined;

export const resolveEventStreamSerdeConfig = <T>(config: T): T => config;

/** Clients with such operations create one each, but use it only for them. */
export class EventStreamSerde {}

export const eventStreamSerdeProvider = (): EventStreamSerde => new EventStreamSerde();
