COPY `Person` (`id`,`name`,`age`,`tags`,`born`) FROM "Person.parquet" (parallel=true);
COPY `City` (`name`,`n`,`x`) FROM "City.parquet" (parallel=true);
COPY `KNOWS` (`since`,`num`) FROM "KNOWS_Person_Person.parquet" (to='Person', from='Person', parallel=true);
COPY `LIVES` (`w`) FROM "LIVES_Person_City.parquet" (to='City', from='Person', parallel=true);
