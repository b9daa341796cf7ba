import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { openSigner } from '../aws-signature.ts';

/** Middleware without effect here: requests are not logged, DynamoDB calls no functions, and nobody reads the user agent. */
const idleSteps = ['loggerMiddleware', 'recursionDetectionMiddleware', 'getUserAgentMiddleware'];

/**
 * The SDK's client without some costs of each request: three idle middlewares, a new signer, and spreads of the configuration, which take forty times as
 * long from the object that the SDK builds as from a copy of it.
 */
export class LeanDynamoDBClient extends DynamoDBClient {
  declare readonly config: DynamoDBClient['config'];

  constructor(settings: DynamoDBClientConfig) {
    super(settings);
    for (const step of idleSteps) this.middlewareStack.remove(step);
    const signer = openSigner('dynamodb', this.config);
    this.config.signer = async () => signer;
    this.config = { ...this.config };
    this.middlewareStack.use(getSchemaSerdePlugin(this.config));
  }
}
