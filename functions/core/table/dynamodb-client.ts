import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { JsonProtocol } from '../json-protocol.ts';
import { trimMiddleware } from '../lean-client.ts';
import { serviceEndpoint } from '../signed-request.ts';

export interface LeanSettings extends Omit<DynamoDBClientConfig, 'endpoint' | 'region'> {
  /** default: `AWS_ENDPOINT_URL_DYNAMODB`, else the region's endpoint */
  endpoint?: string;
  region?: string;
  /** must read responses completely, as `jsonHttpHandler` does; the SDK's own handler returns a stream */
  requestHandler: NonNullable<DynamoDBClientConfig['requestHandler']>;
}

export class LeanDynamoDBClient extends DynamoDBClient {
  constructor({ region = process.env.AWS_REGION ?? '', endpoint = serviceEndpoint('dynamodb', region), ...settings }: LeanSettings) {
    super({ ...settings, region, protocol: JsonProtocol as never });
    trimMiddleware(this, { name: 'dynamodb', endpoint });
  }
}

type Handler = (command: unknown) => Promise<{ output: unknown }>;

/** Members of a command that the SDK does not declare as public. */
interface Resolvable {
  clientCommand: { resolveMiddleware(...parts: unknown[]): Handler };
  resolveMiddleware(...parts: unknown[]): unknown;
}

/** Caches the resolved middleware of each kind of command, as `cacheMiddleware` does for non-document clients. */
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

  /** Extracts the reusable inner handler. The outer one, which the command resolves, works for this command only. */
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
