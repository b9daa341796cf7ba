/**
 * Replaces, in bundles, packages that AWS clients import at start but never use here: `functions/core/lean-client.ts` gives the clients one endpoint, one
 * signing method and one protocol, and removes the middleware that these packages add.
 * `@aws-sdk/core/account-id-endpoint`, `@smithy/core/endpoints`, `@aws-sdk/endpoint-cache` and `@aws-sdk/middleware-endpoint-discovery` find endpoints.
 * `@aws-sdk/core/client` logs, sets the user agent and detects recursive invocations.
 * `@aws-sdk/core/protocols` and `@aws-sdk/dynamodb-codec` serialise; `functions/core/json-protocol.ts` does that instead.
 * `@smithy/core/checksum` and `@smithy/signature-v4` sign requests; `functions/core/aws-signature.ts` does that instead.
 * `@smithy/node-http-handler` sends requests; all clients use the handlers of `functions/core/aws-client.ts` instead.
 * `@aws/lambda-invoke-store` separates concurrent requests in one environment; here it handles one at a time.
 * `@smithy/core/event-streams` is for operations that stream events, such as SelectObjectContent; none is used.
 */

/** A client plugin that adds no middleware. */
const getNoPlugin = () => ({ applyToStack: () => {} });

export {
  getNoPlugin as getEndpointPlugin,
  getNoPlugin as getHostHeaderPlugin,
  getNoPlugin as getLoggerPlugin,
  getNoPlugin as getRecursionDetectionPlugin,
  getNoPlugin as getUserAgentPlugin,
};

/** Adds nothing to a client's configuration. */
const keep = <T>(config: T): T => config;

export {
  keep as resolveAccountIdEndpointModeConfig,
  keep as resolveEndpointConfig,
  keep as resolveEndpointDiscoveryConfig,
  keep as resolveEventStreamSerdeConfig,
  keep as resolveHostHeaderConfig,
  keep as resolveUserAgentConfig,
  keep as setCredentialFeature,
};

const ignore = (): undefined => undefined;

export {
  ignore as createDefaultUserAgentProvider,
  ignore as decideEndpoint,
  ignore as emitWarningIfUnsupportedVersion,
  ignore as getDefaultSocketTimeout,
  ignore as setFeature,
};

/** No configuration that extensions could change. */
const nothing = (): object => ({});

export { nothing as getAwsRegionExtensionConfiguration, nothing as resolveAwsRegionExtensionConfiguration };

class Unused {}

export {
  Unused as AwsJson1_0Protocol,
  Unused as AwsJson1_1Protocol,
  Unused as DynamoDBJsonCodec2,
  Unused as EndpointCache,
  /** Created by clients with streaming operations, and used only for those. */
  Unused as EventStreamSerde,
  Unused as Sha256,
  Unused as SignatureV4,
};

export const eventStreamSerdeProvider = (): Unused => new Unused();

export const InvokeStore = { getInstanceAsync: async (): Promise<undefined> => undefined };

export const NodeHttpHandler = { create: keep };

export const BinaryDecisionDiagram = { from: ignore };

export const awsEndpointFunctions = {};

export const customEndpointFunctions = {};

export const NODE_ACCOUNT_ID_ENDPOINT_MODE_CONFIG_OPTIONS = {};

export const NODE_APP_ID_CONFIG_OPTIONS = {};

export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {};

export const streamCollector = undefined;

export const toEndpointV1 = keep;
