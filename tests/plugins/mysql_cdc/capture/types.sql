-- Every column type that MariaDB 10.11 and MySQL 8.0 share, at its edges. The tables are compared with their binlog rows.
drop database if exists cdc; create database cdc default character set utf8mb4; use cdc;
set names utf8mb4; set time_zone='+00:00'; set sql_mode='';
create table t_types(
 id bigint primary key auto_increment,
 ti tinyint, tiu tinyint unsigned, b1 tinyint(1), si smallint, siu smallint unsigned, mi mediumint, miu mediumint unsigned,
 i int, iu int unsigned, bi bigint, biu bigint unsigned,
 de decimal(20,4), de0 decimal(10,0), deu decimal(5,5) unsigned, fl float, db double,
 ch char(10), vc varchar(50), vc300 varchar(300), tx text, mt mediumtext,
 l1 varchar(20) character set latin1, gb varchar(20) character set gbk,
 bn binary(6), vb varbinary(20), bl blob,
 da date, dt datetime, dt6 datetime(6), dt3 datetime(3), ts timestamp null, ts6 timestamp(6) null, tm time, tm3 time(3), yr year,
 en enum('small','medium','large','x,y') , se set('a','b','c','dé'), bt bit(10), bt1 bit(1),
 js json, nn date not null, pt point) engine=innodb;
insert into t_types(ti,tiu,b1,si,siu,mi,miu,i,iu,bi,biu,de,de0,deu,fl,db,ch,vc,vc300,tx,mt,l1,gb,bn,vb,bl,da,dt,dt6,dt3,ts,ts6,tm,tm3,yr,en,se,bt,bt1,js,nn,pt) values
 (-128,255,1,-32768,65535,-8388608,16777215,-2147483648,4294967295,-9223372036854775808,18446744073709551615,
  -1234567890123456.7891,-42,0.12345,1.5,-2.2250738585072014e-308,'ch😀','emoji 😀 "q" \\','中文 long','text é 😀\n2','m','café','中文',0x0100FF0000,0x00FF00,0xDEADBEEF00,
  '2024-02-29','2024-02-29 23:59:58','2024-02-29 23:59:58.000001','2024-02-29 23:59:58.987','2024-02-29 23:59:58','2024-02-29 23:59:58.123456','-838:59:59','-01:02:03.456',2024,'x,y','a,dé',b'1000000001',b'1',
  '{"a":1,"b":[1,2.5,null,true,"😀"],"c":{"d":-3000000000,"e":18446744073709551615,"f":1e100}}','2024-01-01',ST_GeomFromText('POINT(1 2)')),
 (127,0,0,32767,0,8388607,0,2147483647,0,9223372036854775807,9223372036854775808,
  0.0001,9999999999,0,3.4028e38,1.7976931348623157e308,'','','','','','','','','','',
  '0000-00-00','0000-00-00 00:00:00','0000-00-00 00:00:00','0000-00-00 00:00:00','0000-00-00 00:00:00','0000-00-00 00:00:00','00:00:00','-00:00:00.001',0,'bogus','',0,0,
  '[]','0000-00-00',null),
 (null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,'1000-01-01',null);
insert into t_types select null,ti,tiu,b1,si,siu,mi,miu,i,iu,bi,biu,de,de0,deu,fl,db,ch,vc,vc300,tx,mt,l1,gb,bn,vb,bl,da,dt,dt6,dt3,ts,ts6,tm,tm3,yr,en,se,bt,bt1,js,nn,pt from t_types order by id limit 3;
insert into t_types(de,de0,tm3,dt,ts6,vc300,nn,js,fl,db) values
 (-0.0001,-1,'00:00:01.5','1969-12-31 23:59:59','2038-01-19 03:14:07.999999',repeat('é',300),'9999-12-31','{"d":1.10,"t":"x"}',0.1,0.1),
 (999999999999999.9999,0,'838:59:59','9999-12-31 23:59:59','1970-01-01 00:00:01','x','0001-01-01','"s"',16777217,1e22),
 (-9999999999999999.9999,1,'-838:59:59','2000-00-00 00:00:00',null,'x','2000-00-00','3.0',-1.17549435e-38,-0.0),
 (0,0,'-00:00:00.999','2000-01-00 12:00:00',null,'','2024-02-31','"\\u0001\\u001f\\b\\f\\n\\r\\t\\"\\\\/é😀"',123456.789,123456789.123456789);
update t_types set i=7, vc='updated', tm3='-00:00:00.5', js=json_object('k', 1.5, 'i', 5000000000) where id=7;
update t_types set id=1000, vc='moved' where id=8;
delete from t_types where id=4;

-- The edges of each type.
create table t_edges(id int primary key,
 d65_30 decimal(65,30), d65_0 decimal(65,0), d30_30 decimal(30,30), d1 decimal(1,0), d9_9 decimal(9,9), d18_9 decimal(18,9), dz decimal(12,3) zerofill,
 fz float zerofill, f72 float(7,2), d102 double(10,2), iz int(8) zerofill, bz bigint unsigned zerofill,
 b8 bit(8), b64 bit(64), b9 bit(9),
 t0 time, t1 time(1), t2 time(2), t3 time(3), t4 time(4), t5 time(5), t6 time(6),
 dt1 datetime(1), dt2 datetime(2), dt4 datetime(4), dt5 datetime(5), dt6 datetime(6),
 ts1 timestamp(1) null, ts2 timestamp(2) null, ts3 timestamp(3) null, ts4 timestamp(4) null, ts5 timestamp(5) null, y year,
 e3 enum('it''s','back\\slash','comma,quote"','new\nline',''), ec enum('ä','ß') character set latin1,
 s64 set('s01','s02','s03','s04','s05','s06','s07','s08','s09','s10','s11','s12','s13','s14','s15','s16','s17','s18','s19','s20','s21','s22','s23','s24','s25','s26','s27','s28','s29','s30','s31','s32','s33','s34','s35','s36','s37','s38','s39','s40','s41','s42','s43','s44','s45','s46','s47','s48','s49','s50','s51','s52','s53','s54','s55','s56','s57','s58','s59','s60','s61','s62','s63','s64'),
 s9 set('a','b','c','d','e','f','g','h','ü') character set latin1,
 c255 char(255), c64 char(64), c63 char(63), b255 binary(255), v255 varchar(255) character set latin1, v256 varchar(256) character set latin1,
 tt tinytext, lt longtext, tb tinyblob, mb mediumblob, lb longblob, vb300 varbinary(300),
 `odd "name`` \\` int, `spalte ü` int);
insert into t_edges values
 (1,12345678901234567890123456789012345.123456789012345678901234567891,99999999999999999999999999999999999999999999999999999999999999999,-0.999999999999999999999999999999,9,0.123456789,-123456789.987654321,1.5,
  1.5,12345.67,99999999.99,42,42,0xFF,0xFFFFFFFFFFFFFFFE,0x101,
  '838:59:59','-838:59:58.9','-00:00:00.01','-00:00:01.001','12:34:56.7891','-12:34:56.78912','-838:59:58.999999',
  '2024-01-02 03:04:05.6','2024-01-02 03:04:05.67','2024-01-02 03:04:05.6789','2024-01-02 03:04:05.67891','1000-01-01 00:00:00.000001',
  '2024-01-02 03:04:05.6','2024-01-02 03:04:05.67','2024-01-02 03:04:05.678','2024-01-02 03:04:05.6789','2024-01-02 03:04:05.67891',1901,
  'it''s','ä',0xFFFFFFFFFFFFFFFF,'a,ü',repeat('ü',255),repeat('x',64),repeat('😀',63),concat(0x01,repeat(0x00,200),0x02),repeat('ö',255),repeat('ö',256),
  'tiny','long',0x00,0x0001,0x000102,repeat(0xFE,300),1,2),
 (2,-0.000000000000000000000000000001,-1,0.000000000000000000000000000001,-9,-0.000000001,0.000000001,0,
  0.1,-0.01,0.01,0,18446744073709551615,0,1,0,
  '-00:00:01','00:00:00.1','00:00:00.99','-00:00:00.999','-00:00:00.0001','-00:00:00.00001','-00:00:00.000001',
  '0000-00-00','0000-00-00','0000-00-00','0000-00-00','9999-12-31 23:59:59.999999',
  '1970-01-01 00:00:01','2038-01-19 03:14:07.99',null,null,null,2155,
  'back\\slash','ß','s01,s64','','','','','','','','','','','','','',-1,-2),
 (3,0,0,0,0,0,0,0.001,123456.7,0.1,1.005,99999999,0,1,0x8000000000000000,0x1FF,
  '00:00:00','-00:00:00.1','838:59:58.99','838:59:58.999','838:59:58.9999','838:59:58.99999','838:59:58.999999',
  null,null,null,null,null,null,null,null,null,null,0,'comma,quote"',3,'','b',' ','a ','é ',' ',' ',' ',' ','a','b','c','d','e',0,0),
 (4,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,2000,'new\nline',null,0x5555555555555555,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null),
 (5,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,2000,'',null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null);

-- Row images go through the character sets that the servers have.
create table t_charsets(id int primary key,
 latin1_ varchar(300) character set latin1, latin2_ varchar(300) character set latin2, latin5_ varchar(300) character set latin5, latin7_ varchar(300) character set latin7,
 greek_ varchar(300) character set greek, hebrew_ varchar(300) character set hebrew, cp1250_ varchar(300) character set cp1250, cp1251_ varchar(300) character set cp1251,
 cp1256_ varchar(300) character set cp1256, cp1257_ varchar(300) character set cp1257, cp850_ varchar(300) character set cp850, cp852_ varchar(300) character set cp852,
 cp866_ varchar(300) character set cp866, koi8r_ varchar(300) character set koi8r, koi8u_ varchar(300) character set koi8u, tis620_ varchar(300) character set tis620,
 macroman_ varchar(300) character set macroman, macce_ varchar(300) character set macce, dec8_ varchar(300) character set dec8, hp8_ varchar(300) character set hp8,
 swe7_ varchar(300) character set swe7, armscii8_ varchar(300) character set armscii8, ascii_ varchar(300) character set ascii,
 gbk_ varchar(100) character set gbk, gb2312_ varchar(100) character set gb2312, big5_ varchar(100) character set big5, sjis_ varchar(100) character set sjis,
 cp932_ varchar(100) character set cp932, ujis_ varchar(100) character set ujis, eucjpms_ varchar(100) character set eucjpms, euckr_ varchar(100) character set euckr,
 ucs2_ varchar(100) character set ucs2, utf16_ varchar(100) character set utf16, utf16le_ varchar(100) character set utf16le, utf32_ varchar(100) character set utf32,
 utf8mb3_ varchar(100) character set utf8mb3, ucs2c char(5) character set ucs2, gbkt text character set gbk, bin_ varchar(20) character set binary, u8bin varchar(20) collate utf8mb4_bin,
 u8uni varchar(20) collate utf8mb4_unicode_520_ci);
set @low=unhex('2021222324255C5E605B5D7B7D7C7E'), @high=unhex('808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF');
set @all=concat(@low,@high);
insert into t_charsets values(1,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@all,@low,@all,@low,
 unhex('D6D0CEC4A1A4A996815C'),unhex('D6D0CEC4A1A4'),unhex('A4A4A4E5A145A241A15AC6A1C7FCA244A1E3'),unhex('93FA967B8CEA815F5C7EB1'),
 unhex('93FA967B8CEA8160817CB1FA40'),unhex('C6FCCBDCB8ECA1C08EB18FB0A1F5A1'),unhex('C6FCCBDCB8ECA1C18EB18FB0A1ADA1'),unhex('C7D1B1B981A1C8FE'),
 'é中','é中😀','é中😀','é中😀','é中','ü','中文','x','a','b');
insert into t_charsets(id,ucs2c,gbkt,bin_,ascii_) values(2,'',repeat('中',30),0x00FF,'plain');

-- No primary key, a key of two columns, as many columns as a table may have in a small way, and foreign rows of one event.
create table t_nokey(a int, b varchar(10));
insert into t_nokey values(1,'x'),(1,'x'),(2,null);
delete from t_nokey where a=1 limit 1;
create table t_pair(b varchar(10), a int, c int, primary key(a,b));
insert into t_pair values('x',1,1),('y',1,2),('é"',2,3);
update t_pair set c=c+10;
update t_pair set a=9 where b='y';
create table t_gen(id int primary key, n int, v int generated always as (n*2) virtual, s varchar(20) generated always as (concat('n=',n)) stored, after_ int);
insert into t_gen(id,n,after_) values(1,21,1),(2,null,2);
update t_gen set n=5 where id=2;
create table t_part(id int primary key, v varchar(10)) partition by range(id)(partition p0 values less than(10), partition p1 values less than(100));
insert into t_part values(5,'p0'),(50,'p1');
update t_part set id=id+10 where id=5;
create table t_geo(id int primary key, g geometry, p polygon, ls linestring, mp multipoint, ml multilinestring, mpo multipolygon, gc geometrycollection);
insert into t_geo values(1,ST_GeomFromText('POINT(1.5 -2.25)'),ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 10,0 0),(2 2,4 2,4 4,2 4,2 2))'),ST_GeomFromText('LINESTRING(0 0,1e10 1e-5)'),
 ST_GeomFromText('MULTIPOINT(0 0,1 1)'),ST_GeomFromText('MULTILINESTRING((0 0,1 1),(2 2,3 3))'),ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)))'),ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))')),
 (2,ST_GeomFromText('LINESTRING(1 2,3 4)',4326),null,null,null,null,null,null);
create table t_wide(id int primary key);
alter table t_wide add c1 tinyint,add c2 tinyint,add c3 tinyint,add c4 tinyint,add c5 tinyint,add c6 tinyint,add c7 tinyint,add c8 tinyint,add c9 tinyint,add c10 tinyint,add c11 tinyint,add c12 tinyint,add c13 tinyint,add c14 tinyint,add c15 tinyint,add c16 tinyint,add c17 tinyint,add c18 tinyint,add c19 tinyint,add c20 tinyint,add c21 tinyint,add c22 tinyint,add c23 tinyint,add c24 tinyint,add c25 tinyint,add c26 tinyint,add c27 tinyint,add c28 tinyint,add c29 tinyint,add c30 tinyint,add c31 tinyint,add c32 tinyint,add c33 tinyint,add c34 tinyint,add c35 tinyint,add c36 tinyint,add c37 tinyint,add c38 tinyint,add c39 tinyint,add c40 tinyint,add c41 tinyint,add c42 tinyint,add c43 tinyint,add c44 tinyint,add c45 tinyint,add c46 tinyint,add c47 tinyint,add c48 tinyint,add c49 tinyint,add c50 tinyint,add c51 tinyint,add c52 tinyint,add c53 tinyint,add c54 tinyint,add c55 tinyint,add c56 tinyint,add c57 tinyint,add c58 tinyint,add c59 tinyint,add c60 tinyint,add c61 tinyint,add c62 tinyint,add c63 tinyint,add c64 tinyint,add c65 tinyint,add c66 tinyint,add c67 tinyint,add c68 tinyint,add c69 tinyint,add c70 tinyint,add c71 tinyint,add c72 tinyint,add c73 tinyint,add c74 tinyint,add c75 tinyint,add c76 tinyint,add c77 tinyint,add c78 tinyint,add c79 tinyint,add c80 tinyint,add c81 tinyint,add c82 tinyint,add c83 tinyint,add c84 tinyint,add c85 tinyint,add c86 tinyint,add c87 tinyint,add c88 tinyint,add c89 tinyint,add c90 tinyint,add c91 tinyint,add c92 tinyint,add c93 tinyint,add c94 tinyint,add c95 tinyint,add c96 tinyint,add c97 tinyint,add c98 tinyint,add c99 tinyint,add c100 tinyint,add c101 tinyint,add c102 tinyint,add c103 tinyint,add c104 tinyint,add c105 tinyint,add c106 tinyint,add c107 tinyint,add c108 tinyint,add c109 tinyint,add c110 tinyint,add c111 tinyint,add c112 tinyint,add c113 tinyint,add c114 tinyint,add c115 tinyint,add c116 tinyint,add c117 tinyint,add c118 tinyint,add c119 tinyint,add c120 tinyint,add c121 tinyint,add c122 tinyint,add c123 tinyint,add c124 tinyint,add c125 tinyint,add c126 tinyint,add c127 tinyint,add c128 tinyint,add c129 tinyint,add c130 tinyint,add c131 tinyint,add c132 tinyint,add c133 tinyint,add c134 tinyint,add c135 tinyint,add c136 tinyint,add c137 tinyint,add c138 tinyint,add c139 tinyint,add c140 tinyint,add c141 tinyint,add c142 tinyint,add c143 tinyint,add c144 tinyint,add c145 tinyint,add c146 tinyint,add c147 tinyint,add c148 tinyint,add c149 tinyint,add c150 tinyint,add c151 tinyint,add c152 tinyint,add c153 tinyint,add c154 tinyint,add c155 tinyint,add c156 tinyint,add c157 tinyint,add c158 tinyint,add c159 tinyint,add c160 tinyint,add c161 tinyint,add c162 tinyint,add c163 tinyint,add c164 tinyint,add c165 tinyint,add c166 tinyint,add c167 tinyint,add c168 tinyint,add c169 tinyint,add c170 tinyint,add c171 tinyint,add c172 tinyint,add c173 tinyint,add c174 tinyint,add c175 tinyint,add c176 tinyint,add c177 tinyint,add c178 tinyint,add c179 tinyint,add c180 tinyint,add c181 tinyint,add c182 tinyint,add c183 tinyint,add c184 tinyint,add c185 tinyint,add c186 tinyint,add c187 tinyint,add c188 tinyint,add c189 tinyint,add c190 tinyint,add c191 tinyint,add c192 tinyint,add c193 tinyint,add c194 tinyint,add c195 tinyint,add c196 tinyint,add c197 tinyint,add c198 tinyint,add c199 tinyint,add c200 tinyint,add c201 tinyint,add c202 tinyint,add c203 tinyint,add c204 tinyint,add c205 tinyint,add c206 tinyint,add c207 tinyint,add c208 tinyint,add c209 tinyint,add c210 tinyint,add c211 tinyint,add c212 tinyint,add c213 tinyint,add c214 tinyint,add c215 tinyint,add c216 tinyint,add c217 tinyint,add c218 tinyint,add c219 tinyint,add c220 tinyint,add c221 tinyint,add c222 tinyint,add c223 tinyint,add c224 tinyint,add c225 tinyint,add c226 tinyint,add c227 tinyint,add c228 tinyint,add c229 tinyint,add c230 tinyint,add c231 tinyint,add c232 tinyint,add c233 tinyint,add c234 tinyint,add c235 tinyint,add c236 tinyint,add c237 tinyint,add c238 tinyint,add c239 tinyint,add c240 tinyint,add c241 tinyint,add c242 tinyint,add c243 tinyint,add c244 tinyint,add c245 tinyint,add c246 tinyint,add c247 tinyint,add c248 tinyint,add c249 tinyint,add c250 tinyint,add c251 tinyint,add c252 tinyint,add c253 tinyint,add c254 tinyint,add c255 tinyint,add c256 tinyint,add c257 tinyint,add c258 tinyint,add c259 tinyint,add c260 tinyint,add c261 tinyint,add c262 tinyint,add c263 tinyint,add c264 tinyint,add c265 tinyint,add c266 tinyint,add c267 tinyint,add c268 tinyint,add c269 tinyint,add c270 tinyint,add c271 tinyint,add c272 tinyint,add c273 tinyint,add c274 tinyint,add c275 tinyint,add c276 tinyint,add c277 tinyint,add c278 tinyint,add c279 tinyint,add c280 tinyint,add c281 tinyint,add c282 tinyint,add c283 tinyint,add c284 tinyint,add c285 tinyint,add c286 tinyint,add c287 tinyint,add c288 tinyint,add c289 tinyint,add c290 tinyint,add c291 tinyint,add c292 tinyint,add c293 tinyint,add c294 tinyint,add c295 tinyint,add c296 tinyint,add c297 tinyint,add c298 tinyint,add c299 tinyint,add c300 tinyint,add c301 tinyint,add c302 tinyint,add c303 tinyint,add c304 tinyint,add c305 tinyint,add c306 tinyint,add c307 tinyint,add c308 tinyint,add c309 tinyint,add c310 tinyint,add c311 tinyint,add c312 tinyint,add c313 tinyint,add c314 tinyint,add c315 tinyint,add c316 tinyint,add c317 tinyint,add c318 tinyint,add c319 tinyint,add c320 tinyint,add c321 tinyint,add c322 tinyint,add c323 tinyint,add c324 tinyint,add c325 tinyint,add c326 tinyint,add c327 tinyint,add c328 tinyint,add c329 tinyint,add c330 tinyint,add c331 tinyint,add c332 tinyint,add c333 tinyint,add c334 tinyint,add c335 tinyint,add c336 tinyint,add c337 tinyint,add c338 tinyint,add c339 tinyint,add c340 tinyint,add c341 tinyint,add c342 tinyint,add c343 tinyint,add c344 tinyint,add c345 tinyint,add c346 tinyint,add c347 tinyint,add c348 tinyint,add c349 tinyint,add c350 tinyint,add c351 tinyint,add c352 tinyint,add c353 tinyint,add c354 tinyint,add c355 tinyint,add c356 tinyint,add c357 tinyint,add c358 tinyint,add c359 tinyint,add c360 tinyint,add c361 tinyint,add c362 tinyint,add c363 tinyint,add c364 tinyint,add c365 tinyint,add c366 tinyint,add c367 tinyint,add c368 tinyint,add c369 tinyint,add c370 tinyint,add c371 tinyint,add c372 tinyint,add c373 tinyint,add c374 tinyint,add c375 tinyint,add c376 tinyint,add c377 tinyint,add c378 tinyint,add c379 tinyint,add c380 tinyint,add c381 tinyint,add c382 tinyint,add c383 tinyint,add c384 tinyint,add c385 tinyint,add c386 tinyint,add c387 tinyint,add c388 tinyint,add c389 tinyint,add c390 tinyint,add c391 tinyint,add c392 tinyint,add c393 tinyint,add c394 tinyint,add c395 tinyint,add c396 tinyint,add c397 tinyint,add c398 tinyint,add c399 tinyint,add c400 tinyint,add c401 tinyint,add c402 tinyint,add c403 tinyint,add c404 tinyint,add c405 tinyint,add c406 tinyint,add c407 tinyint,add c408 tinyint,add c409 tinyint,add c410 tinyint,add c411 tinyint,add c412 tinyint,add c413 tinyint,add c414 tinyint,add c415 tinyint,add c416 tinyint,add c417 tinyint,add c418 tinyint,add c419 tinyint,add c420 tinyint,add c421 tinyint,add c422 tinyint,add c423 tinyint,add c424 tinyint,add c425 tinyint,add c426 tinyint,add c427 tinyint,add c428 tinyint,add c429 tinyint,add c430 tinyint,add c431 tinyint,add c432 tinyint,add c433 tinyint,add c434 tinyint,add c435 tinyint,add c436 tinyint,add c437 tinyint,add c438 tinyint,add c439 tinyint,add c440 tinyint,add c441 tinyint,add c442 tinyint,add c443 tinyint,add c444 tinyint,add c445 tinyint,add c446 tinyint,add c447 tinyint,add c448 tinyint,add c449 tinyint,add c450 tinyint,add c451 tinyint,add c452 tinyint,add c453 tinyint,add c454 tinyint,add c455 tinyint,add c456 tinyint,add c457 tinyint,add c458 tinyint,add c459 tinyint,add c460 tinyint,add c461 tinyint,add c462 tinyint,add c463 tinyint,add c464 tinyint,add c465 tinyint,add c466 tinyint,add c467 tinyint,add c468 tinyint,add c469 tinyint,add c470 tinyint,add c471 tinyint,add c472 tinyint,add c473 tinyint,add c474 tinyint,add c475 tinyint,add c476 tinyint,add c477 tinyint,add c478 tinyint,add c479 tinyint,add c480 tinyint,add c481 tinyint,add c482 tinyint,add c483 tinyint,add c484 tinyint,add c485 tinyint,add c486 tinyint,add c487 tinyint,add c488 tinyint,add c489 tinyint,add c490 tinyint,add c491 tinyint,add c492 tinyint,add c493 tinyint,add c494 tinyint,add c495 tinyint,add c496 tinyint,add c497 tinyint,add c498 tinyint,add c499 tinyint,add c500 tinyint,add c501 tinyint,add c502 tinyint,add c503 tinyint,add c504 tinyint,add c505 tinyint,add c506 tinyint,add c507 tinyint,add c508 tinyint,add c509 tinyint,add c510 tinyint,add c511 tinyint,add c512 tinyint,add c513 tinyint,add c514 tinyint,add c515 tinyint,add c516 tinyint,add c517 tinyint,add c518 tinyint,add c519 tinyint,add c520 tinyint,add c521 tinyint,add c522 tinyint,add c523 tinyint,add c524 tinyint,add c525 tinyint,add c526 tinyint,add c527 tinyint,add c528 tinyint,add c529 tinyint,add c530 tinyint,add c531 tinyint,add c532 tinyint,add c533 tinyint,add c534 tinyint,add c535 tinyint,add c536 tinyint,add c537 tinyint,add c538 tinyint,add c539 tinyint,add c540 tinyint,add c541 tinyint,add c542 tinyint,add c543 tinyint,add c544 tinyint,add c545 tinyint,add c546 tinyint,add c547 tinyint,add c548 tinyint,add c549 tinyint,add c550 tinyint,add c551 tinyint,add c552 tinyint,add c553 tinyint,add c554 tinyint,add c555 tinyint,add c556 tinyint,add c557 tinyint,add c558 tinyint,add c559 tinyint,add c560 tinyint,add c561 tinyint,add c562 tinyint,add c563 tinyint,add c564 tinyint,add c565 tinyint,add c566 tinyint,add c567 tinyint,add c568 tinyint,add c569 tinyint,add c570 tinyint,add c571 tinyint,add c572 tinyint,add c573 tinyint,add c574 tinyint,add c575 tinyint,add c576 tinyint,add c577 tinyint,add c578 tinyint,add c579 tinyint,add c580 tinyint,add c581 tinyint,add c582 tinyint,add c583 tinyint,add c584 tinyint,add c585 tinyint,add c586 tinyint,add c587 tinyint,add c588 tinyint,add c589 tinyint,add c590 tinyint,add c591 tinyint,add c592 tinyint,add c593 tinyint,add c594 tinyint,add c595 tinyint,add c596 tinyint,add c597 tinyint,add c598 tinyint,add c599 tinyint,add c600 tinyint;
insert into t_wide(id,c1,c8,c9,c300,c600) values(1,1,8,9,-3,6),(2,null,null,null,null,null);
-- Which columns the bits and lists of a table map count, and in what order.
create table t_order(id int primary key, y year, a int, b bit(3), g point, c varchar(5) character set latin1, e enum('é','b') character set latin1, d varchar(5),
 s set('ü','x') character set cp1251, f varbinary(5), h text character set latin1, j json, g2 geometry, k varchar(5) character set cp1251, u int unsigned, dt date, m int, y2 year, x bigint unsigned, e2 enum('ж') character set cp1251, z double);
insert into t_order values(1,2000,-1,b'101',ST_GeomFromText('POINT(1 2)'),'é','é','é','x',0xE9,'é','{}',ST_GeomFromText('POINT(3 4)'),'ж',4294967295,'2024-01-01',-2,1999,18446744073709551615,'ж',-1.5);
