/**
 * Stands in, in bundles, for three packages that AWS clients import at start and that nothing here ever reaches.
 * `@aws-sdk/endpoint-cache` is for endpoint discovery, which is off: a table is reached at its region's endpoint.
 * `@smithy/core/checksum` is what clients hash with if they are not given `Sha256` of `functions/core/aws-client.ts`, which all are.
 * `@smithy/core/event-streams` is for operations that stream events, such as SelectObjectContent: none is used.
 */
export class EndpointCache {}

export class Sha256 {}

export const resolveEventStreamSerdeConfig = <T>(config: T): T => config;

/** Clients that know such operations make one each, and use it only for them. */
export class EventStreamSerde {}

export const eventStreamSerdeProvider = (): EventStreamSerde => new EventStreamSerde();
