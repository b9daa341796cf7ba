/**
 * Stands in, in bundles, for two packages that AWS clients import at start and that nothing here ever reaches.
 * `@aws-sdk/endpoint-cache` is for endpoint discovery, which is off: a table is reached at its region's endpoint.
 * `@smithy/core/event-streams` is for operations that stream events, such as SelectObjectContent: none is used.
 */
export class EndpointCache {}

export const resolveEventStreamSerdeConfig = <T>(config: T): T => config;

export const eventStreamSerdeProvider = (): never => {
  throw new TypeError('event streams are not part of the bundles: see lib/unused-sdk-parts.ts');
};

export const EventStreamSerde = eventStreamSerdeProvider;
