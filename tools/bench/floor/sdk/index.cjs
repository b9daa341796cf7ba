/** The same work with the AWS SDK, as its documentation says. */
const { BatchGetItemCommand, DynamoDBClient, UpdateItemCommand } = require('@aws-sdk/client-dynamodb');
const { executeWith } = require('../index.cjs');

const commands = { BatchGetItem: BatchGetItemCommand, UpdateItem: UpdateItemCommand };
let client;

exports.handler = executeWith((endpoint, { operation, body }) => {
  client ??= new DynamoDBClient({ endpoint });
  return client.send(new commands[operation](JSON.parse(body)));
});
