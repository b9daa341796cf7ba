/**
 * Stands in, in bundles, for packages that AWS clients import at start and that nothing here ever reaches: `functions/core/lean-client.ts` gives the clients
 * one endpoint, one way to sign and one protocol, and takes the steps out that these packages put in.
 * `@aws-sdk/core/account-id-endpoint`, `@smithy/core/endpoints`, `@aws-sdk/endpoint-cache` and `@aws-sdk/middleware-endpoint-discovery` find endpoints.
 * `@aws-sdk/core/client` logs, names the caller and finds loops of functions.
 * `@aws-sdk/core/protocols` and `@aws-sdk/dynamodb-codec` write and read requests, which `functions/core/json-protocol.ts` does.
 * `@smithy/core/checksum` and `@smithy/signature-v4` sign requests, which `functions/core/aws-signature.ts` does.
 * `@smithy/node-http-handler` sends requests, which the handlers of `functions/core/aws-client.ts` do: all clients have one.
 * `@aws/lambda-invoke-store` tells apart the requests that one environment handles at the same time; it has one.
 * `@smithy/core/event-streams` is for operations that stream events, such as SelectObjectContent: none is used.
 */

/** A plugin of a client that adds no step. */
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

/** Nothing of a client's configuration that extensions could change. */
const nothing = (): object => ({});

export { nothing as getAwsRegionExtensionConfiguration, nothing as resolveAwsRegionExtensionConfiguration };

class Unused {}

export {
  Unused as AwsJson1_0Protocol,
  Unused as AwsJson1_1Protocol,
  Unused as DynamoDBJsonCodec2,
  Unused as EndpointCache,
  /** Clients with such operations create one each, but use it only for them. */
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
