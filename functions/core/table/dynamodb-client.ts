import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
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

type Handler = (command: unknown) => Promise<{ output: unknown }>;

/** The parts of a command that the SDK does not declare as public. */
interface Resolvable {
  clientCommand: { resolveMiddleware(...parts: unknown[]): Handler };
  resolveMiddleware(...parts: unknown[]): unknown;
}

/** Resolves the middleware of each kind of command once, as `cacheMiddleware` does for clients without documents. */
export class LeanDocumentClient extends DynamoDBDocumentClient {
  readonly #handlers = new Map<unknown, Handler>();

  constructor(client: DynamoDBClient) {
    super(client, { marshallOptions: { removeUndefinedValues: true } });
  }

  override send = (async (command: Resolvable) => {
    const handler = this.#handlers.get(command.constructor) ?? this.#resolve(command);
    this.#handlers.set(command.constructor, handler);
    return (await handler(command.clientCommand)).output;
  }) as unknown as DynamoDBDocumentClient['send'];

  /** The handler inside the one that the command would resolve, which is for this command only. */
  #resolve(command: Resolvable): Handler {
    const { clientCommand } = command;
    const resolve = clientCommand.resolveMiddleware.bind(clientCommand);
    let inner: Handler | undefined;
    clientCommand.resolveMiddleware = (...parts) => {
      inner = resolve(...parts);
      return inner;
    };
    command.resolveMiddleware(this.middlewareStack, this.config);
    if (!inner) throw new TypeError('the SDK resolves the middleware of its commands in another way');
    return inner;
  }
}
