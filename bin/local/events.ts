import * as z from 'zod';
import { operation, startJsonService } from './json-service.ts';

const json = z.string().transform((text): unknown => JSON.parse(text));
const input = z.object({ Entries: z.array(z.object({ DetailType: z.string(), Detail: json })) });

/**
 * A stand-in for EventBridge on a loopback port with one operation, PutEvents.
 * @param onEvent - receives the type and detail of each event
 */
export const startEvents = (onEvent: (type: string, detail: unknown) => void) =>
  startJsonService({
    PutEvents: operation(input, ({ Entries }) => {
      for (const { DetailType, Detail } of Entries) onEvent(DetailType, Detail);
      return { FailedEntryCount: 0, Entries: [] };
    }),
  });
