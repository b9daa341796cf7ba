import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { getSchemaSerdePlugin } from '@smithy/core/schema';

/** What each request passes through to no effect: nothing logs requests, DynamoDB calls no functions, and nobody reads the user agent. */
const idleSteps = ['loggerMiddleware', 'recursionDetectionMiddleware', 'getUserAgentMiddleware'];

/**
 * The SDK's client, without what costs processor time for each request and has no effect: three idle steps, a new signer for each request, and
 * spreads of the configuration, each forty times as slow from the object that the SDK builds as from a copy of it.
 */
export class LeanDynamoDBClient extends DynamoDBClient {
  declare readonly config: DynamoDBClient['config'];

  constructor(settings: DynamoDBClientConfig) {
    super(settings);
    for (const step of idleSteps) this.middlewareStack.remove(step);
    const { signer: makeSigner } = this.config;
    let signer: ReturnType<typeof makeSigner> | undefined;
    this.config.signer = (scheme) => {
      signer ??= makeSigner(scheme);
      return signer;
    };
    this.config = { ...this.config };
    this.middlewareStack.use(getSchemaSerdePlugin(this.config));
  }
}
