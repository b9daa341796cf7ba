import type { DatabaseSync } from 'node:sqlite';

/**
 * Data, not code: words that are asked with and answered with for one another, a group a line. Their forms (plurals and the like) need no
 * mention. They move what is found already, and find something by themselves only if a question finds next to nothing.
 */
const groups = `
  movie film cinema picture
  show series television tv program episode
  photo picture image photograph snapshot
  video clip footage
  song track music tune audio melody
  singer artist musician band
  playlist mix track
  podcast audio
  speech voice speak
  actor actress cast star
  director crew
  genre category
  category kind type
  book novel read literature
  author writer
  drawing illustration art artwork picture
  poster image
  concert festival event ticket
  ticket admission
  museum gallery exhibition
  game play gaming
  sport football soccer basketball
  team club
  match fixture game
  score result
  win winner
  joke funny humor
  buy bought purchase order shop
  shop store retailer merchant
  product item goods merchandise article
  price cost fee charge rate
  cheap affordable budget inexpensive discount deal
  discount coupon deal offer promo voucher bargain sale
  pay paid payment checkout
  refund reimburse
  invoice bill billing
  inventory stock warehouse
  supplier vendor seller
  subscription subscribe plan
  cart basket
  money cash currency fund
  currency exchange forex dollar euro
  bank account banking
  loan credit mortgage lending
  stock share equity ticker market
  crypto cryptocurrency bitcoin ethereum coin token blockchain
  invest investment portfolio
  tax vat
  budget expense spending
  insurance coverage
  salary wage pay compensation
  trip travel journey vacation holiday itinerary tour
  flight airline plane fly airfare
  airport terminal
  hotel accommodation lodging stay room hostel
  book reserve reservation booking
  attraction sightseeing visit
  train rail railway
  bus transit transport
  car vehicle automobile auto
  taxi cab ride
  parking garage
  drive route direction navigate navigation
  map location place geography
  address location street
  coordinate latitude longitude
  city town
  country nation
  distance far length
  nearby near local around
  postcode postal zip
  weather forecast temperature climate rain
  hot cold temperature
  storm alert warning hurricane
  pollution air quality
  carbon emission
  earthquake seismic
  energy electricity power
  restaurant dining eat food cafe
  recipe cook meal dish ingredient
  food meal diet eat
  drink beverage wine cocktail
  nutrition calorie diet
  health medical medicine
  doctor physician clinic practitioner
  sick symptom disease illness
  drug medication medicine prescription
  fitness exercise workout gym
  sleep rest
  job career employment vacancy hiring position
  resume cv
  employee staff worker
  leave vacation absence
  company business firm organization corporation
  customer client
  lead prospect
  sell sale deal
  contact reach
  course class lesson lecture
  learn study education tutor teach
  school university college
  student pupil learner
  exam test quiz
  homework assignment
  grade mark score
  paper article publication research journal
  news headline article story
  scientific science academic scholarly
  translate translation language
  word vocabulary dictionary
  meaning definition define
  synonym thesaurus
  grammar spelling proofread
  write compose draft
  rewrite paraphrase rephrase
  summary summarize brief abstract
  text content
  document file pdf
  scan ocr recognize
  convert transform conversion
  sign signature
  email mail inbox
  message sms text chat
  send sent deliver
  notify notification alert reminder
  phone call telephone mobile
  meeting appointment event calendar
  calendar schedule agenda
  cancel abort revoke
  delete remove erase
  create add make new generate
  update change edit modify
  list show get fetch
  search lookup query
  upload attach
  download export
  share invite
  track trace follow
  ship shipping delivery parcel package
  courier carrier
  house home property apartment estate
  rent lease rental tenant
  furniture sofa chair
  code program software
  developer programmer engineer
  bug issue error defect
  repository repo git
  deploy release rollout
  build pipeline
  test check verify
  log trace event
  website site web page url link
  domain dns hostname
  server host machine instance
  outage incident downtime
  backup restore snapshot
  seo keyword
  internet web online
  database sql table
  data dataset
  chart graph plot diagram visualization
  statistic stats metric analytics
  analyze analysis analytics
  predict prediction forecast
  calculate calculator compute math
  math mathematics equation
  number figure
  user account profile member
  login signin authenticate
  password credential
  permission access role
  security secure vulnerability
  device sensor
  light lamp bulb
  thermostat heating temperature
  camera photo
  door lock
  law legal lawyer
  contract agreement
  court case judgment
  government public
  passport visa
  crime police
  gift present
  fashion clothes clothing outfit apparel
  beauty cosmetics makeup
  pet dog cat animal
  plant garden
  farm crop agriculture
  child children kid baby
  person people
  family parent
  friend friendship
  date dating
  horoscope astrology zodiac
  tarot fortune divination
  bible quran religion
  review rating opinion feedback
  rate rating
  comment reply
  popular trending trend top
  latest recent new current
  recommend recommendation suggest suggestion
  similar related alike
  idea inspiration brainstorm
  plan planner planning
  task todo
  note memo
  marketing advertise ad campaign
  social twitter facebook instagram
  post tweet
  slide presentation powerpoint
  spreadsheet excel sheet csv
  logo icon brand
  design designer
  color colour palette
  space nasa planet
  time clock timezone
  history historical past
  quote quotation saying
  donate donation charity
  vote election poll
`;

const lines = groups
  .trim()
  .split('\n')
  .map((line) => line.trim().split(' '));

/** Every word of the groups with all that it shares a group with. */
function relate(): Map<string, Set<string>> {
  const related = new Map<string, Set<string>>();
  for (const line of lines) {
    for (const word of line) {
      const others = related.get(word) ?? new Set();
      for (const other of line) if (other !== word) others.add(other);
      related.set(word, others);
    }
  }
  return related;
}

const related = relate();

/**
 * Loads the groups into a database of the same tokenizer as the index, so that `movies` finds what `movie` is related to.
 * @returns a function from an FTS5 expression of words to the words related to them
 */
export function openThesaurus(database: DatabaseSync): (expression: string) => string[] {
  database.exec(`CREATE VIRTUAL TABLE temp.thesaurus USING fts5 (word, tokenize = 'porter unicode61 remove_diacritics 0')`);
  const insert = database.prepare('INSERT INTO thesaurus (word) VALUES (?)');
  for (const word of related.keys()) insert.run(word);
  const find = database.prepare('SELECT word FROM thesaurus WHERE thesaurus MATCH ?');
  return (expression) => {
    const asked = find.all(expression).map(({ word }) => String(word));
    const others = new Set(asked.flatMap((word) => [...(related.get(word) ?? [])]));
    return [...others].filter((word) => !asked.includes(word));
  };
}
